"""Runs a user's script or module inside this process, as ``python`` would."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import traceback
from typing import Any, Callable, List, NamedTuple, Sequence

from tf_autofuse.errors import AutofuseError

FAILURE = 1
INTERRUPTED = 130  # 128 + SIGINT, what a shell reports


class Job(NamedTuple):
    """What to run: a file, or a module when `is_module`, with its arguments."""

    name: str
    arguments: Sequence[str]
    is_module: bool

    @classmethod
    def parse(cls, words: Sequence[str]) -> "Job":
        """The job of ``script.py args...`` or ``-m module args...``; AutofuseError if none is."""
        is_module = list(words[:1]) == ["-m"]
        words = words[1:] if is_module else words
        if not words:
            raise AutofuseError("no script given: tf-autofuse run script.py [arguments]")
        job = cls(words[0], tuple(words[1:]), is_module)
        job._check()
        return job

    def _check(self) -> None:
        if not self.is_module and not os.path.exists(self.name):
            raise AutofuseError("no such script: {}".format(self.name))

    def run(self) -> int:
        """Run it as ``__main__``; its exit code. Its traceback goes to stderr.

        An AutofuseError that it does not catch passes through.
        """
        sys.argv = [self.name] + list(self.arguments)
        # What python puts there for a script and for -m.
        folder = os.getcwd() if self.is_module else os.path.dirname(os.path.realpath(self.name))
        sys.path[0] = folder
        try:
            if self.is_module:
                runpy.run_module(self.name, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(self.name, run_name="__main__")
        except SystemExit as exit_:
            return _exit_code(exit_.code)
        except KeyboardInterrupt:
            _print_traceback()
            return INTERRUPTED
        except AutofuseError:  # turning autofuse on failed, and --strict says that this counts
            raise
        except BaseException:
            _print_traceback()
            return FAILURE
        finally:
            flush()
        return 0


def flush() -> None:
    """Write what was printed; a script may have closed its output."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def when_imported(name: str, action: Callable[[], Any]) -> None:
    """Call `action` once, right after the module `name` was first imported; now if it is there.

    A script may set environment variables before it imports TensorFlow, so nothing here may
    import it any earlier.
    """
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Watcher(name, action))


class _Watcher:
    def __init__(self, name: str, action: Callable[[], Any]) -> None:
        self._name, self._action = name, action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The module's own spec, whose loader also runs the action."""
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            self._extend(spec.loader)
        return spec

    def _extend(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            vars(loader).pop("exec_module", None)  # two actions may wait for one module
            execute(module)
            self._action()

        loader.exec_module = exec_module


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return FAILURE


def _print_traceback() -> None:
    """The traceback as python prints it, without the frames of this package and of runpy."""
    kind, value, trace = sys.exc_info()
    hidden: List[str] = [os.path.abspath(__file__), runpy.__file__, "<frozen runpy>"]
    while trace is not None and trace.tb_frame.f_code.co_filename in hidden:
        trace = trace.tb_next
    traceback.print_exception(kind, value, trace)
