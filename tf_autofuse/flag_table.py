"""The table of all flags: what may be written in AUTOFUSE_FLAGS and AUTOFUSE_DFX_FLAGS."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Tuple, Union

from tf_autofuse.platforms import PLATFORMS

MAIN = "AUTOFUSE_FLAGS"
DFX = "AUTOFUSE_DFX_FLAGS"

Value = Union[bool, int, str, Tuple[str, ...]]

_INT_MAX = 2**31 - 1
_PASSES = ("reduce", "concat", "slice", "split", "gather", "transpose", "matmul", "conv")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_BOOL_HINTS = {
    "1": "true",
    "on": "true",
    "yes": "true",
    "0": "false",
    "off": "false",
    "no": "false",
}


def nearest_word(word: str, allowed: Iterable[str]) -> str:
    by_lower = {name.lower(): name for name in allowed}
    cleaned = "".join(word.split()).strip("\"'").lower()
    found: List[str] = difflib.get_close_matches(cleaned, list(by_lower), n=1, cutoff=0.6)
    return by_lower[found[0]] if found else ""


def _check_pattern(text: str) -> None:
    """ValueError for what is no regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(str(error)) from None


@dataclass(frozen=True)
class Flag:
    """One row of the table.

    ``type`` is bool, int, choice, list, names, str, regex or path. ``allowed`` holds the words of a
    choice or list, or the two bounds of an int. ``bare`` flags may also be written without ``--``.
    ``effective`` is False for a key that is accepted but changes nothing in this package yet;
    ``affects_code`` is True for one that must be part of a kernel's cache key.
    """

    name: str
    env: str
    type: str
    default: Value
    help: str
    allowed: Tuple[Any, ...] = ()
    effective: bool = False
    affects_code: bool = False
    bare: bool = False

    def allowed_text(self) -> str:
        """What a value may be, in words."""
        if self.type == "bool":
            return "true, false"
        if self.type == "int":
            low, high = self.allowed
            return "a whole number from {} to {}".format(low, high)
        if self.type == "choice":
            return ", ".join(self.allowed)
        if self.type == "list":
            return "one or more of {}, separated by ','".format(", ".join(self.allowed))
        if self.type == "names":
            return "operator types separated by ',', or all"
        if self.type == "path":
            return "a path"
        if self.type == "regex":
            return "a regular expression without ';'"
        return "a text without ';'"

    def default_text(self) -> str:
        """The default as it would be written in a variable; empty when there is none."""
        if isinstance(self.default, bool):
            return "true" if self.default else "false"
        if isinstance(self.default, tuple):
            return ",".join(self.default)
        return str(self.default)

    def read(self, text: str) -> Value:
        """The typed value of `text`; raises ValueError when it is not allowed."""
        if self.type == "bool":
            return {"true": True, "false": False}[self._one_of(text, ("true", "false"))]
        if self.type == "int":
            return self._read_int(text)
        if self.type == "choice":
            return self._one_of(text, self.allowed)
        if self.type == "list":
            return tuple(self._one_of(word, self.allowed) for word in text.split(","))
        if self.type == "names":
            words = text.split(",")
            if not all(_NAME.match(word) for word in words):
                raise ValueError(text)
            return tuple(words)
        if not text:
            raise ValueError(text)
        if self.type == "regex":
            _check_pattern(text)
        return text

    def nearest(self, text: str) -> str:
        """The allowed value that is spelled most like `text`; empty when none is near."""
        if self.type == "int":
            digits = "".join(text.split())
            return digits if self.accepts(digits) else ""
        if self.type in ("list", "names"):
            words = [word.strip() for word in re.split(r"[,\s:|]+", text) if word.strip()]
            near = [nearest_word(word, self.allowed) or word for word in words]
            joined = ",".join(near)
            return joined if self.accepts(joined) else ""
        words_allowed = ("true", "false") if self.type == "bool" else self.allowed
        near_word = nearest_word(text, words_allowed)
        if not near_word and self.type == "bool":
            near_word = _BOOL_HINTS.get(text.strip().lower(), "")
        return near_word

    def accepts(self, text: str) -> bool:
        """Whether `text` is an allowed value."""
        try:
            self.read(text)
        except ValueError:
            return False
        return True

    def _read_int(self, text: str) -> int:
        if not re.match(r"[0-9]{1,18}\Z", text):
            raise ValueError(text)
        low, high = self.allowed
        if not low <= int(text) <= high:
            raise ValueError(text)
        return int(text)

    @staticmethod
    def _one_of(text: str, allowed: Iterable[str]) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text


_TABLE = (
    Flag(
        "enable_autofuse",
        MAIN,
        "bool",
        False,
        "Fuse. Off or not set: every graph comes back as it was.",
        effective=True,
    ),
    Flag(
        "autofuse_enable_pass",
        MAIN,
        "list",
        (),
        "Kinds of fusion to switch on besides elementwise and broadcast.",
        allowed=_PASSES,
    ),
    Flag(
        "autofuse_disable_pass",
        MAIN,
        "list",
        (),
        "Kinds of fusion to switch off; a kind may not be switched on as well.",
        allowed=_PASSES,
    ),
    Flag(
        "recomputation_threshold",
        MAIN,
        "int",
        1,
        "How many readers a cheap producer may have and still be computed again for each.",
        allowed=(0, 255),
    ),
    Flag(
        "max_fusion_size",
        MAIN,
        "int",
        64,
        "Most operators in one kernel; 0 fuses nothing.",
        allowed=(0, _INT_MAX),
    ),
    Flag(
        "autofuse_enhance_precision_blacklist",
        MAIN,
        "names",
        (),
        "Operators that are not raised to fp32 inside a kernel.",
    ),
    Flag(
        "autofuse_enable_pgo",
        MAIN,
        "bool",
        False,
        "Choose tilings by measuring candidates on the device.",
    ),
    Flag(
        "experimental_enable_jit_executor_v2",
        MAIN,
        "bool",
        False,
        "Cut the graph where a size is known only at run time.",
    ),
    Flag(
        "strict",
        MAIN,
        "bool",
        False,
        "Turn a failure in fusing into an error instead of leaving the operators to TensorFlow.",
        effective=True,
    ),
    Flag(
        "async_compile",
        MAIN,
        "bool",
        False,
        "Build kernels for the CPU while the model runs; each is used from when it is there.",
        effective=True,
    ),
    Flag(
        "remember_graphs",
        MAIN,
        "bool",
        True,
        "Keep what became of each graph on disk, beside the kernels: another process that asks for "
        "the same graph gets it without the pass.",
        effective=True,
    ),
    Flag(
        "pass_stage",
        MAIN,
        "choice",
        "AFTER_BUILTIN_FUSION_PASS",
        "GE stage in which the pass runs; read when GE loads the pass. Shapes are known in all.",
        allowed=("AFTER_INFER_SHAPE", "AFTER_BUILTIN_FUSION_PASS", "AFTER_ORIGIN_GRAPH_OPTIMIZE"),
        effective=True,
    ),
    Flag(
        "soc",
        MAIN,
        "choice",
        "Ascend910B",
        "Chip that kernels are generated for.",
        allowed=tuple(PLATFORMS),
        effective=True,
        affects_code=True,
    ),
    Flag(
        "build_seconds",
        MAIN,
        "int",
        180,
        "Time limit of one run of the compiler, in seconds; what takes longer stays unfused.",
        allowed=(1, 86400),
        effective=True,
    ),
    Flag(
        "build_memory_mb",
        MAIN,
        "int",
        4096,
        "Memory limit of one run of the compiler, in MiB of address space; 0: none.",
        allowed=(0, 1 << 20),
        effective=True,
    ),
    Flag(
        "autofuse_att_algorithm",
        DFX,
        "choice",
        "AxesReorder",
        "Tiling solver.",
        allowed=("AxesReorder", "HighPerf"),
    ),
    Flag(
        "att_accuracy_level",
        DFX,
        "int",
        1,
        "Fineness of the tiling solver's search.",
        allowed=(0, 1),
    ),
    Flag(
        "att_enable_multicore_ub_tradeoff",
        DFX,
        "bool",
        False,
        "Let the tiling solver give up UB use for more cores.",
    ),
    Flag(
        "att_ub_threshold",
        DFX,
        "int",
        20,
        "UB use in percent that the trade-off keeps.",
        allowed=(0, 100),
    ),
    Flag(
        "att_corenum_threshold",
        DFX,
        "int",
        40,
        "Share of cores in percent that the trade-off wants.",
        allowed=(0, 100),
    ),
    Flag("att_profiling", DFX, "bool", False, "Print what the tiling solver does."),
    Flag(
        "att_enable_small_shape_strategy",
        DFX,
        "bool",
        False,
        "Own tiling rule for shapes that fit one core.",
    ),
    Flag(
        "autofuse_enable_tiling_cache",
        DFX,
        "bool",
        False,
        "Keep solved tilings per kernel and shape.",
    ),
    Flag(
        "autofuse_pgo_algo",
        DFX,
        "choice",
        "core_select",
        "How measured tilings are searched.",
        allowed=("core_select", "pruning"),
    ),
    Flag(
        "autofuse_pgo_step_max",
        DFX,
        "int",
        16,
        "Largest step of the pruning search.",
        allowed=(1, 1024),
    ),
    Flag(
        "autofuse_pgo_topn", DFX, "int", 5, "Candidates that are measured.", allowed=(0, _INT_MAX)
    ),
    Flag("force_schedule_result", DFX, "str", "", "Take this schedule instead of the best one."),
    Flag("force_tiling_case", DFX, "str", "", "Take this tiling case instead of the best one."),
    Flag("force_template_op_name", DFX, "str", "", "Kernel that the two keys above apply to."),
    Flag(
        "codegen_compile_debug",
        DFX,
        "bool",
        False,
        "Keep every stage of every kernel (graph, loop and kernel IR, Ascend C, C++, tiling, build "
        "log) under the debug folder, tell why operators were left alone, and write a compile "
        "timeline to ~/.cache/autofuse_compile_trace.",
        effective=True,
    ),
    Flag(
        "debug_dir",
        DFX,
        "path",
        "",
        "The debug folder; not set: the working directory.",
        effective=True,
    ),
    Flag("disable_lifting", DFX, "bool", False, "Do not take a kernel apart that saves nothing."),
    Flag(
        "subgraph_recover",
        DFX,
        "bool",
        False,
        "Write the operators of each kernel to ./subgraph_recover/NAME.air.",
        effective=True,
    ),
    Flag(
        "skip_node_names_cfg",
        DFX,
        "path",
        "",
        "File that lists, under [ByNodeType] and [ByNodeName], operators to leave alone; one name "
        "or pattern (*, ?) a line.",
        effective=True,
    ),
    Flag(
        "replace_kernel",
        DFX,
        "regex",
        "",
        "Kernels, by key or by name without its number, whose sources are taken from the debug "
        "folder, where they may have been edited.",
        bare=True,
        effective=True,
    ),
)
FLAGS: Dict[str, Flag] = {flag.name: flag for flag in _TABLE}
