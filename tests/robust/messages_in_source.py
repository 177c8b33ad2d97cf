"""The messages that the program can print, collected from its source."""

import ast
import os
import re

# Messages of these classes name a reason code or a fault of this package; the codes have entries.
BY_CODE = {"Unsupported", "ScheduleError", "IRError"}
BY_TEXT = {"AutofuseError", "FlagError", "BuildError", "BuildTimeout", "DumpError",
           "KernelRunError", "TwinError", "PermissionError"}  # fmt: skip
WARNINGS = {"warn_once": 1, "warning": 0, "_tell": 1, "_error": 1}
CPP = re.compile(
    r"(?:InvalidArgument|Internal|hook->Log)\(([^;]*);|\*error = ([^;]*);", re.DOTALL
)


def python_files(root):
    for folder in ("tf_autofuse", "passes"):
        for where, dirs, names in os.walk(os.path.join(root, folder)):
            dirs[:] = [name for name in dirs if name not in ("__pycache__", "_lib", "path")]
            for name in sorted(names):
                if name.endswith(".py"):
                    yield os.path.join(where, name)


def texts_in(tree):
    """The constant texts of an expression; what is `Constant` now was `Str` in Python 3.7."""
    for part in ast.walk(tree):
        if type(part).__name__ == "Str":
            yield part.s
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def words_of(node, function):
    """The constant parts of a text; of a name, those of what is assigned to it in the function."""
    texts = list(texts_in(node))
    if not texts and isinstance(node, (ast.Name, ast.Call)) and function is not None:
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        for item in ast.walk(function):
            if isinstance(item, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id in names for target in item.targets
            ):
                texts += texts_in(item.value)
    return " ".join(text for text in texts if len(text) > 3)


def of_python(path):
    """(line, text) of every message in a Python file."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    owners = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for inner in ast.walk(function):
                owners[inner] = function
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        place = WARNINGS.get(name, 0 if name in BY_TEXT else None)
        if place is None or len(node.args) <= place:
            continue
        text = words_of(node.args[place], owners.get(node))
        if text:
            yield node.lineno, text


def of_cpp(path):
    """(line, text) of every message in a C++ file."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    for match in CPP.finditer(source):
        words = re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(1) or match.group(2))
        text = " ".join(word for word in words if len(word) > 3)
        if text:
            yield source.count("\n", 0, match.start()) + 1, text


def all_messages(root):
    """{place: text}; a place is path:line."""
    found = {}
    for path in python_files(root):
        for line, text in of_python(path):
            found["%s:%d" % (os.path.relpath(path, root), line)] = text
    for folder in ("csrc/tf", "csrc/core"):
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if name.endswith(".cc"):
                for line, text in of_cpp(os.path.join(root, folder, name)):
                    found["%s/%s:%d" % (folder, name, line)] = text
    return found
