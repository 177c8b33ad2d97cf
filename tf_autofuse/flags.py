"""AUTOFUSE_FLAGS and AUTOFUSE_DFX_FLAGS: one table of typed flags and one parser.

A variable holds ``--key=value`` parts separated by ``;``. Nothing is guessed: what is not in the
table, or not spelled exactly, is a `FlagError` that says what is allowed. The variables are read
when a flag is asked for, not when this module is imported.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from tf_autofuse.errors import FlagError
from tf_autofuse.flag_table import DFX, FLAGS, MAIN, Flag, Value, nearest_word

SEPARATOR = ";"
STAGE = "flags"

Overrides = Union[None, str, Mapping[str, Any]]


class Flags:
    """Values of all flags as attributes, e.g. ``flags.enable_autofuse``; immutable."""

    def __init__(self, given: Mapping[str, Value]) -> None:
        values = {name: given.get(name, flag.default) for name, flag in FLAGS.items()}
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError("no flag {!r}".format(name))
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("flags are read-only; use tf_autofuse.enable(flags=...)")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._values.items())))

    def __repr__(self) -> str:
        changed = {n: v for n, v in self._values.items() if v != FLAGS[n].default}
        return "Flags({})".format(", ".join("{}={!r}".format(*item) for item in changed.items()))

    def to_dict(self) -> Dict[str, Value]:
        """A copy of all values by flag name."""
        return dict(self._values)

    def code_key(self) -> str:
        """Text of the flags that change generated code: a part of a kernel's cache key."""
        return SEPARATOR.join(
            "{}={}".format(name, self._values[name])
            for name, flag in FLAGS.items()
            if flag.affects_code
        )


def parse(env_value: Optional[str], dfx_value: Optional[str]) -> Flags:
    """Flags of the two variables' texts (None or "" when not set); raises `FlagError`."""
    given = _parse_variable(env_value or "", MAIN)
    given.update(_parse_variable(dfx_value or "", DFX))
    _check_together(given)
    return Flags(given)


def parse_overrides(flags: Overrides) -> Dict[str, Value]:
    """Checked values of a ``--key=value;...`` text, or of a mapping from key to Python value.

    Keys of both variables are allowed. Raises `FlagError`.
    """
    if flags is None:
        return {}
    if isinstance(flags, str):
        return _parse_variable(flags, "")
    values: Dict[str, Value] = {}
    for name, value in flags.items():
        _check_key(name, "", name)
        values[name] = _read(FLAGS[name], _to_text(value), "")
    return values


_overrides: Dict[str, Value] = {}
_memo: Dict[Tuple[str, str], Flags] = {}


def set_overrides(flags: Overrides) -> None:
    """Values that win over the environment from now on; None removes them all."""
    values = parse_overrides(flags)
    _check_together(values)
    _overrides.clear()
    _overrides.update(values)
    _memo.clear()


def current() -> Flags:
    """The flags in force: overrides, then the two environment variables, then defaults."""
    key = (os.environ.get(MAIN, ""), os.environ.get(DFX, ""))
    found = _memo.get(key)
    if found is None:
        values = parse(*key).to_dict()
        values.update(_overrides)
        _check_together(values)
        found = Flags(values)
        _memo.clear()
        _memo[key] = found
    return found


def _parse_variable(text: str, variable: str) -> Dict[str, Value]:
    """Values in `text`; `variable` is its name, or "" for a text that may hold keys of both."""
    values: Dict[str, Value] = {}
    parts = text.split(SEPARATOR)
    if parts[-1] == "":  # one separator may close the list, and an empty text is an empty list
        parts.pop()
    for part in parts:
        key, word = _split(part, variable)
        value = _read(FLAGS[key], word, variable)
        if values.get(key, value) != value:
            raise _error(
                variable,
                "--{} is given twice, as {} and as {}: allowed is one value per key".format(
                    key, _to_text(values[key]), word
                ),
            )
        values[key] = value
    return values


def _split(part: str, variable: str) -> Tuple[str, str]:
    """Key and value text of one ``--key=value``; the key is one of the variable's."""
    if not part.strip():
        raise _error(variable, "empty flag in the list: allowed is one ';' between two flags")
    fault = _fault_of_form(part)
    if fault:
        message = "{} in {!r}: allowed is --key=value".format(fault, part)
        raise _error(variable, message, _suggest(part, variable))
    key, equals, word = (part[2:] if part.startswith("--") else part).partition("=")
    _check_key(key, variable, part)
    if not equals:
        allowed = FLAGS[key].allowed_text()
        raise _error(variable, "--{} has no value: allowed: {}".format(key, allowed))
    return key, word


def _fault_of_form(part: str) -> str:
    """What is wrong with the form of one flag, whatever its key; empty when nothing is."""
    head = part.split("=", 1)[0]
    if part != part.strip() or re.search(r"\s=|^[^=]*=\s", part):
        return "stray space"
    if part[0] in "\"'":
        return "quote"
    if head in FLAGS and FLAGS[head].bare:
        return ""
    return "" if re.match(r"--(?!-)", part) else "no leading '--'"


def _check_key(key: str, variable: str, part: str) -> None:
    names = _names(variable)
    if key in names:
        return
    if key in FLAGS:
        other = FLAGS[key].env
        raise _error(variable, "{!r} is a key of {}, not of {}".format(part, other, variable))
    message = "unknown key in {!r}: allowed keys: {}".format(part, ", ".join(names))
    raise _error(variable, message, _suggest(part, variable))


def _read(flag: Flag, word: str, variable: str) -> Value:
    joined = re.search(r"[,\s]+--\w+=", word)
    if joined:
        raise _error(
            variable,
            "value {!r} of --{} runs into the next flag: allowed between flags is ';'".format(
                word, flag.name
            ),
            "--{}={};{}".format(flag.name, word[: joined.start()], joined.group().lstrip(", \t"))
            + word[joined.end() :],
        )
    try:
        return flag.read(word)
    except ValueError:
        pass
    what = "value {!r} of --{}".format(word, flag.name) if word else "empty value of --" + flag.name
    hint = _suggest("--{}={}".format(flag.name, word), variable) if word else ""
    raise _error(variable, "{}: allowed: {}".format(what, flag.allowed_text()), hint)


def _suggest(part: str, variable: str) -> str:
    """The nearest valid spelling of one flag; empty when nothing is near."""
    key, equals, word = part.strip().strip("\"'").lstrip("-").partition("=")
    key = nearest_word(key.replace("-", "_"), _names(variable)) or nearest_word(key, FLAGS)
    if not key:
        return ""
    flag, word = FLAGS[key], word.strip()
    value = word if flag.accepts(word) else flag.nearest(word)
    if equals and word and not value:
        return "--" + key if flag.name not in part else ""
    hint = "--{}={}".format(key, value or "...")
    return hint if key in _names(variable) else "{} in {}".format(hint, flag.env)


def _names(variable: str) -> List[str]:
    return [name for name, flag in FLAGS.items() if variable in ("", flag.env)]


def _check_together(values: Mapping[str, Value]) -> None:
    on, off = (values.get(key, ()) for key in ("autofuse_enable_pass", "autofuse_disable_pass"))
    both = sorted(set(on) & set(off))  # type: ignore[arg-type]
    if both:
        raise _error(
            MAIN,
            "{} is both in --autofuse_enable_pass and in --autofuse_disable_pass: "
            "allowed is one of them".format(", ".join(both)),
        )


def _error(variable: str, text: str, hint: str = "") -> FlagError:
    if hint:
        text += "; did you mean {}?".format(hint)
    return FlagError(text, node=variable or "flags", stage=STAGE)


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(word) for word in value)
    return "" if value is None else str(value)
