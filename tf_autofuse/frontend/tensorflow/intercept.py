"""Makes every TensorFlow session and eager context carry the graph optimizer "NpuOptimizer".

Two places are patched while installed. ``BaseSession.__init__`` is passed by every Session (also
those of MonitoredSession, Estimator and Keras in graph mode). ``Context.config`` is what the eager
context gives to itself, to tf.function calls, and to sessions without a config of their own;
``Context.function_call_options`` keeps a copy of it per thread, which is made anew once. Where
TensorFlow has ``Context.call_function``, small functions are called by way of `one_kernel`.
"""

from __future__ import annotations

import importlib
import itertools
import threading
from typing import Any, Callable, Dict, List, Tuple

from tf_autofuse import flags, log
from tf_autofuse.frontend.tensorflow import one_kernel, parameters
from tf_autofuse.locks import ForkLock
from tf_autofuse.runtime import tf_op

OPTIMIZER_NAME = "NpuOptimizer"
ALL_GRAPH_SIZES = -1  # TensorFlow skips graphs below 4 nodes unless told otherwise

_lock = ForkLock(reentrant=True)
_loaded = False
_restore: List[Tuple[Any, str, Any]] = []
_generations = itertools.count(1)


def install(optimizer: tf_op.GraphCallback) -> None:
    """Load the TensorFlow side and route graphs through `optimizer(graph_def, info)`.

    Works before or after TensorFlow made its context; a second call only changes the optimizer.
    Where an installed adapter owns the name NpuOptimizer, its own compiler runs the passes and
    nothing is patched. Raises `BuildError` when the C++ part can neither be loaded nor built.
    """
    global _loaded
    with _lock:
        tf_op.set_optimizer(optimizer, strict=flags.current().strict)
        _loaded = True
        if not _restore and tf_op.owns_optimizer():
            patch_tensorflow()


def uninstall() -> None:
    """Put every patched attribute back and let graphs through untouched."""
    with _lock:
        unpatch_tensorflow()
        if _loaded:
            tf_op.set_optimizer(None)


def is_installed() -> bool:
    """Whether configs are being extended."""
    return bool(_restore)


def kernel_stats() -> Dict[str, Dict[str, Any]]:
    """Calls and last shapes per fused node; {} when the TensorFlow side was never loaded."""
    return tf_op.kernel_stats() if _loaded else {}


def with_optimizer(config: Any) -> Any:
    """A copy of a ConfigProto that carries NpuOptimizer exactly once, for graphs of every size.

    The copy has nothing new when the config disables the meta optimizer: then TensorFlow runs no
    graph optimizer at all, which is the user's word and stays. FlagError when the script gave
    NpuOptimizer parameters that the adapter would not take.
    """
    copy = type(config)()
    copy.CopyFrom(config)
    return _extend(copy)


def _extend(config: Any) -> Any:
    """The config itself, as `with_optimizer` would return it."""
    rewrite = config.graph_options.rewrite_options
    present = False
    for item in rewrite.custom_optimizers:
        if item.name == OPTIMIZER_NAME:
            present = True
            if item.parameter_map:
                parameters.check(item.parameter_map)
    if rewrite.disable_meta_optimizer:
        log.get_logger(__name__).info("nothing is fused: disable_meta_optimizer is set")
        return config
    rewrite.min_graph_nodes = ALL_GRAPH_SIZES
    if not present:
        rewrite.custom_optimizers.add().name = OPTIMIZER_NAME
    return config


def patch_tensorflow() -> None:
    """Patch the classes; `unpatch_tensorflow` undoes it."""
    session = importlib.import_module("tensorflow.python.client.session")
    context = importlib.import_module("tensorflow.python.eager.context")
    _replace(session.BaseSession, "__init__", _session_init(session.BaseSession.__init__))
    owner = context.Context
    _replace(owner, "config", _context_config(owner.__dict__["config"]))
    _replace(owner, "function_call_options", _call_options(owner.__dict__["function_call_options"]))
    if hasattr(owner, "call_function"):
        _replace(owner, "call_function", one_kernel.function_caller(owner.call_function))
        _replace(owner, "remove_function", one_kernel.function_remover(owner.remove_function))
    _forget_call_options(context)


def unpatch_tensorflow() -> None:
    """Put back what `patch_tensorflow` replaced. Does nothing when nothing is patched."""
    if not _restore:
        return
    while _restore:
        owner, name, original = _restore.pop()
        setattr(owner, name, original)
    one_kernel.forget_all()
    _forget_call_options(importlib.import_module("tensorflow.python.eager.context"))


def _replace(owner: Any, name: str, new: Any) -> None:
    _restore.append((owner, name, owner.__dict__[name]))
    setattr(owner, name, new)


def _session_init(original: Callable[..., None]) -> Callable[..., None]:
    def init(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        # Wrong types are left for TensorFlow to complain about; None means the context's config.
        if hasattr(config, "graph_options"):
            config = with_optimizer(config)
        original(self, target, graph, config)

    init.__name__, init.__doc__ = original.__name__, original.__doc__
    init.__wrapped__ = original  # type: ignore[attr-defined]
    return init


def _context_config(original: property) -> property:
    def config(self: Any) -> Any:
        # TensorFlow makes a new config at every call, and asks for one at every call of a function.
        return _extend(original.fget(self))  # type: ignore[misc]

    return property(config, original.fset, original.fdel, original.__doc__)


def _call_options(original: property) -> property:
    """The property that drops what a thread cached before the patch, once per thread."""
    generation = next(_generations)
    seen = threading.local()

    def get(self: Any) -> Any:
        if getattr(seen, "generation", 0) != generation:
            seen.generation = generation
            _drop(self._thread_local_data)
        return original.fget(self)  # type: ignore[misc]

    return property(get, original.fset, original.fdel, original.__doc__)


def _forget_call_options(context_module: Any) -> None:
    context = context_module._context
    if context is not None:
        _drop(context._thread_local_data)


def _drop(thread_data: Any) -> None:
    """Forget cached call options, but not those of an explicit function_executor_type scope."""
    cached = thread_data.function_call_options
    if cached is not None and not cached.executor_type:
        thread_data.function_call_options = None
