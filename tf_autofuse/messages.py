"""What the messages of this package mean and what to do: docs/troubleshooting.md is made of this.

A test compares the table with the messages in the source, in both directions.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple


class Entry(NamedTuple):
    """Messages that hold one of `texts`, what they mean, and what helps."""

    texts: Tuple[str, ...]
    meaning: str
    help: str


_BUILD = (
    Entry(("no C++ compiler found", "the compiler named by CXX is not there", "CXX={!r} cannot"),
          "There is no compiler for the CPU kernels; the model runs unfused.",
          "Install g++, or let `CXX` name a compiler that is on `PATH`."),
    Entry(("the C++ compiler does not work", "cannot start {}"),
          "The compiler is there but does not even print its version, or cannot be started.",
          "Run the command that the message names by hand; reinstall the compiler."),
    Entry(("did not end within",),
          "The compiler took longer than `--build_seconds` and was ended with all it had started. "
          "After two time-outs in a row nothing more is built in this process.",
          "Raise `--build_seconds` on a slow machine; otherwise look why the compiler hangs. "
          "`tf_autofuse.enable()` tries again."),
    Entry(("the kernel does not compile", "the kernel does not compile for the chip"),
          "The compiler refused a generated source, was ended by a signal, or ran out of memory "
          "(`--build_memory_mb`). Source and output are under `failed` in the kernel cache.",
          "Where memory is short raise the limit or free some. Otherwise it is a fault of this "
          "package: report it with the kept source."),
    Entry(("wrote no library", "is no kernel library", "has kernel interface", "it has no function",
           "its ABI version is", "dlopen failed", "no single place for its numbers"),
          "What the compiler left is no whole kernel library, so that it is not used.",
          "Look at the disk (full?) and at what `CXX` names; `tf-autofuse cache clear` removes "
          "what is stored."),
    Entry(("cannot store the kernel", "there is no folder to keep kernels in"),
          "The kernel could not be written: the disk is full, or the folder is read-only.",
          "Make room, or let `AUTOFUSE_CACHE_DIR` name another folder."),
    Entry(("the kernel cache", "is not a folder of this user"),
          "The cache folder cannot be made, is not the user's own, or lies below a folder that "
          "others can write to. Kernels of this process are built in a private temporary folder.",
          "Give `AUTOFUSE_CACHE_DIR` a folder that only you can write to, as for a key of ssh."),
    Entry(("is not loaded", "cannot use kernel library", "it was changed after the graph was fused",
           "no host library was built", "no function library"),
          "The op does not find the library that the graph names, or does not trust it: it was "
          "changed, or others may write to it or to a folder above it.",
          "Fuse on the machine that runs the model. `chmod go-w` the folder that is named."),
    Entry(("the compiler failed on", "no sources in", "cannot load {}: {}",
           "TensorFlow cannot be imported"),
          "The extension for the installed TensorFlow can be neither built nor loaded.",
          "`python -m tf_autofuse.build.tf_shim` shows the whole output. It needs g++, pybind11 "
          "and the headers of Python."),
    Entry(("bisheng is neither", "the bundle has no kernel for a chip",
           "no description of a kernel", "no GE type for"),
          "The binary or the project for a chip cannot be made: no compiler for it, no instruction "
          "of the chip, or a damaged bundle.",
          "Set `ASCEND_HOME_PATH`; a damaged bundle is made again once its folder is removed."),
    Entry(("the operator AutofusedKernel is not installed",),
          "CANN is there, the operator that launches kernels is not; nothing is fused.",
          "Run `scripts/build_cann.sh` and put the folder that it prints into the variable."),
)  # fmt: skip

_RUN = (
    Entry(("the model runs unfused", "operators stay unfused", "the graph runs as it is",
           "fusing stopped, the rest of the graph stays as it is"),
          "Something failed while a graph was fused; these operators run in TensorFlow.",
          "The rest of the message says what failed; look for it here. `--strict=true` makes it "
          "an error."),
    Entry(("tf_autofuse (strict)",),
          "With `--strict=true` a failure in fusing fails the model.",
          "Look for the rest of the message here, or leave `--strict` away."),
    Entry(("Integer division by zero", "integer division by zero",
           "an index or label is outside the valid range", "is not in [0, ", "out of bounds",
           "cannot be split into", "elements from"),
          "The data are not what the operator allows; TensorFlow fails on them, too.",
          "Look at the inputs of the operator."),
    Entry(("has rank", "ranks %s", "%s: %d, not %d", "the kernel has no tiling for these shapes",
           "the kernel cannot run sizes", "the input sizes do not tell the size of axis"),
          "A tensor has another shape at run time than the graph said.",
          "Look at what is fed. When TensorFlow runs the same data unfused, report it."),
    Entry(("shape spec '", "cannot read %r", "does not have", "only plain data types can be fused",
           "no input has axis", "may broadcast and must not be merged", "merged axis",
           "an output dimension cannot have", "a tensor that may broadcast must not have",
           "another one:"),
          "A fused node carries a rule of shapes that cannot be: somebody changed the node, or "
          "another version wrote it.",
          "Fuse the model again with this version."),
    Entry(("the kernel failed with code", "ended with codes"),
          "A kernel reported a failure that it has no name for.", "Report it with the kernel."),
    Entry(("no shapes are known in",),
          "TensorFlow could infer no shapes, so little can be fused.",
          "Look at the message of TensorFlow that follows."),
    Entry(("NpuOptimizer has no parameter", "NpuOptimizer parameter"),
          "The script gives the optimizer a parameter or value that it does not know.",
          "Correct the `parameter_map` of the script."),
    Entry(("the pass is not registered", "stage %s is taken", "cannot load the pass plug-in"),
          "A pass file could not be loaded, or not for the stage that the flag names.",
          "Look at `ASCEND_GE_PY_PASS_PATH` and at the error that follows."),
)  # fmt: skip

_FLAGS = (
    Entry(("allowed is", "allowed:", "allowed keys:", "allowed between flags", "is a key of",
           "--{}: {}"),
          "`AUTOFUSE_FLAGS`, `AUTOFUSE_DFX_FLAGS`, `--flags` or a file that a flag names holds "
          "something that is not allowed. Nothing is guessed.",
          "The message says what is allowed and what was probably meant; see [flags](flags.md)."),
)  # fmt: skip

_FILES = (
    Entry(("the file is empty", "not text:", "not protobuf text", "unmatched }",
           "the file ends too early", "messages are nested too deeply",
           "not a serialised ge.proto.ModelDef", "a readable dump cannot be read back",
           "not a file with a graph", "larger than 2 GiB", "not a GraphDef"),
          "The file is damaged, cut short, or of another kind.",
          "Write the dump or model again; file and line are named where they are known."),
    Entry(("constants of graph",),
          "The values of constants cannot be had from GE, so operators that need them stay.",
          "Look at free space in the temporary folder."),
    Entry(("no such model", "no such folder", "no such script", "no script given",
           "no graph dumps", "is no report of tf-autofuse", "no node for the output",
           "no operator {} that computes something"),
          "What the command line names is not there, or holds nothing of the kind.",
          "Look at the spelling and the folder; `--help` has examples."),
    Entry(("no SavedModel that can be frozen", "this kind of model needs TensorFlow"),
          "TensorFlow cannot read or freeze the model, or is not there.",
          "Load the model in the TensorFlow that wrote it; `--output` names tensors to keep."),
    Entry(("the model is fused already", "the bundle of a kernel is not used"),
          "The model brings fused nodes along that were not written by this version here, or "
          "whose kernels lie where others can write.",
          "Fuse the model that it was made from."),
    Entry(("cannot be written", "a graph dump is missing", "no dump %s", "no compile timeline",
           "stages are not kept", "no graph of {} is kept"),
          "A file that was asked for cannot be written; everything else goes on.",
          "Look at the folder: full, read-only, or not there."),
    Entry(("made no graph", "left no report", "left no times"),
          "The script ended before it ran a graph, or failed; its own output says why.",
          "Run the script by itself first."),
    Entry(("is not replaced: there is no folder", "runs %s of %s", "is not taken:"),
          "`--replace_kernel` took a source from the debug folder, found none, or cannot read it.",
          "Make the folder with `--codegen_compile_debug=true` first."),
    Entry(("acl.{} failed with", "no tiling for sizes",
           "pyACL cannot be imported"),
          "A call of pyACL failed, whose name and code the message has, or there is no pyACL.",
          "Source CANN's `set_env.sh`, look with `npu-smi info` whether the device is free, and "
          "look the code up in the manual of pyACL."),
    Entry(("the device is an", "--calibrate takes no script"),
          "`tf-autofuse profile --calibrate` measures the chip of this host and runs no script.",
          "Leave `--soc` away, or give the name that `npu-smi info` shows."),
    Entry(("is not measured:",),
          "A probe kernel of `tf-autofuse profile --calibrate` does not build for this chip; its "
          "cost stays as it was.",
          "Nothing, if one or two are missing; otherwise look at what the compiler says."),
    Entry(("the HTML report needs jinja2", "this TensorFlow has no reader of profiles",
           "TensorFlow's profiler"),
          "A tool needs something that is missing, or that the script uses itself.",
          "Install what is named; end the script's own profiler."),
)  # fmt: skip

PARTS: Dict[str, Tuple[Entry, ...]] = {
    "Building and loading kernels": _BUILD,
    "Running a model": _RUN,
    "Flags": _FLAGS,
    "Files and commands": _FILES,
}

_NOTHING = "Nothing: this is as it should be."
_REPORT = "Report it with the graph dump; until then the operators run in TensorFlow."
_STATIC = "Give placeholders or `input_signature` the sizes that are known."

#: What to do about a reason code of `cluster.reasons.CODES`.
CODE_HELP: Dict[str, str] = {
    "OP_UNKNOWN": "See [the operators that fuse](ops.md); others stay as they are.",
    "DTYPE": "Use a data type of [the table](ops.md), e.g. cast once outside.",
    "RANK": "Give the tensor a rank: `set_shape`, or a placeholder with a shape.",
    "FED": _NOTHING,
    "DEVICE": "Place the operator on a device that fused kernels run on.",
    "SCOPE": "Take it out of the scope or the skip file when it should fuse.",
    "MULTI_OUTPUT": _NOTHING,
    "ATTR": "See [the operators that fuse](ops.md) for what is covered.",
    "FORMAT": "Use NHWC, NCHW or a tensor without a format.",
    "AXES_UNKNOWN": "Make the axes, begins or sizes constants.",
    "SHAPE_MATH": _NOTHING,
    "SHAPE": "Look at the shapes in the dump; TensorFlow may fail on them as well.",
    "CONSTANT": _NOTHING,
    "SINGLE": _NOTHING,
    "CYCLE": _NOTHING,
    "CONTEXT": _NOTHING,
    "SETTINGS": "Give neighbours the same device, stream and core settings.",
    "AXES_CONFLICT": _NOTHING,
    "AXES_ORDER": _NOTHING,
    "RUNTIME_BROADCAST": _STATIC,
    "MOVE": _NOTHING,
    "SIZE_UNKNOWN": _STATIC,
    "RESHAPE": _STATIC,
    "VIEW": _NOTHING,
    "REDUCE_AXES": _NOTHING,
    "REDUCE_DOMAIN": _NOTHING,
    "REDUCE_BROADCAST": _NOTHING,
    "RECOMPUTE": _NOTHING,
    "TRAFFIC": _NOTHING,
    "OUTPUT_DOMAIN": _NOTHING,
    "SCHEDULE": "Another chip (`--soc`) may have the instruction; else nothing.",
    "BUILD": "Look for the sentence of the reason in this page.",
    "REWRITE": _REPORT,
    "IMPORT": "Look for the sentence of the reason in this page.",
    "INTERNAL": _REPORT,
}
