"""The error kinds of the package; each names the node and the stage it comes from."""

from __future__ import annotations

from typing import Optional, Sequence


class AutofuseError(Exception):
    """Base of all errors raised on purpose by this package.

    ``str()`` gives ``[stage] node: message``; parts that are empty are left out.
    """

    def __init__(self, message: str, node: str = "", stage: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.node = node
        self.stage = stage

    def __str__(self) -> str:
        parts = []
        if self.stage:
            parts.append("[{}]".format(self.stage))
        parts.append("{}: {}".format(self.node, self.message) if self.node else self.message)
        return " ".join(parts)


class Unsupported(AutofuseError):
    """A legal graph outside the coverage: the operator stays with TensorFlow.

    ``code`` is the short reason code shown in reports.
    """

    def __init__(self, message: str, node: str = "", stage: str = "", code: str = "") -> None:
        super().__init__(message, node=node, stage=stage)
        self.code = code


class IRError(AutofuseError):
    """A verifier or parser refused an IR: a fault of this package or of a hand-written text."""


class ScheduleError(AutofuseError):
    """A schedule step is illegal for this kernel."""


class FlagError(AutofuseError):
    """A flag variable holds something that is not allowed."""


class BuildError(AutofuseError):
    """A generated source did not build.

    Keeps the ``command`` (list of words), its ``returncode`` (None when it could not be started),
    the compiler's ``output`` and the path of the ``source``.
    """

    def __init__(
        self,
        message: str,
        node: str = "",
        stage: str = "build",
        command: Sequence[str] = (),
        returncode: Optional[int] = None,
        output: str = "",
        source: str = "",
    ) -> None:
        super().__init__(message, node=node, stage=stage)
        self.command = list(command)
        self.returncode = returncode
        self.output = output
        self.source = source

    def copy(self, node: str = "", source: str = "") -> "BuildError":
        """The same error anew, for another node or with the path of the kept source."""
        return type(self)(
            self.message,
            node=node or self.node,
            stage=self.stage,
            command=self.command,
            returncode=self.returncode,
            output=self.output,
            source=source or self.source,
        )


class BuildStopped(BuildError):
    """A compiler was ended because its result is not wanted any more: no failure."""


class BuildTimeout(BuildError):
    """The compiler did not end within its time limit."""


class DumpError(AutofuseError):
    """A dump file is damaged; ``path`` and ``line`` (1-based, 0 when unknown) say where."""

    def __init__(
        self, message: str, path: str = "", line: int = 0, node: str = "", stage: str = "read dump"
    ) -> None:
        super().__init__(message, node=node, stage=stage)
        self.path = path
        self.line = line

    def __str__(self) -> str:
        where = self.path if not self.line else "{}:{}".format(self.path, self.line)
        text = super().__str__()
        return "{}: {}".format(where, text) if where else text
