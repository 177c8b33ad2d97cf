"""The words of a command line, put in order before argparse sees them."""

from __future__ import annotations

from typing import List, Tuple

_RUN = "run"
_SCRIPT_COMMANDS = ("report", "profile", "explain")
_RUN_VALUES = ("--flags", "--report", "--dump", "--times")


def prepare(argv: List[str]) -> Tuple[List[str], List[str]]:
    """(words for argparse, arguments of the script).

    `run` takes the script's arguments right behind the script and keeps them among its words; the
    commands that run a script on the side take them behind ``--``.
    """
    if argv[:1] == [_RUN]:
        return _run_words(argv), []
    if argv and argv[0] in _SCRIPT_COMMANDS:
        end = argv.index("--") if "--" in argv else len(argv)
        return _joined_flags(argv[:end]), argv[end + 1 :]
    return list(argv), []


def _joined_flags(words: List[str]) -> List[str]:
    """``--flags --a=b`` as ``--flags=--a=b``: argparse takes no value that looks like an option."""
    joined: List[str] = []
    for word in words:
        if joined and joined[-1] == "--flags":
            joined[-1] = "--flags={}".format(word)
        else:
            joined.append(word)
    return joined


def _run_words(argv: List[str]) -> List[str]:
    """Values joined to their options; a ``-m`` is guarded by ``--``, and nothing from the script
    on is touched."""
    joined, index = argv[:1], 1
    while index < len(argv) and argv[index].startswith("-") and argv[index] not in ("-m", "--"):
        if argv[index] in _RUN_VALUES and index + 1 < len(argv):
            joined.append("{}={}".format(argv[index], argv[index + 1]))
            index += 1
        else:
            joined.append(argv[index])
        index += 1
    rest = argv[index:]
    return joined + (["--"] + rest if rest[:1] == ["-m"] else rest)
