"""Imports go one way: which part of the package may import which, and where TensorFlow may be."""

import ast
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = "tf_autofuse"

# Facts and helpers that every part may use; they use nothing but each other.
BASE = {"errors", "flag_table", "flags", "interrupts", "locks", "log", "paths", "platforms"}

# The IRs and the op table: what each may import besides BASE and itself.
IR_PARTS = {"ge": {"ops"}, "loop": {"ops"}, "ops": {"loop"}, "kernel": {"loop"}}

# TensorFlow is imported here and nowhere else; stand-ins are modules of an adapter, not ours.
TENSORFLOW_PARTS = (
    "frontend/tensorflow/",
    "runtime/tf_op.py",
    "build/tf_shim.py",
    "verify/",
    "standins/",
)
TENSORFLOW_LAZY = ("build/tf_shim.py",)


def python_files(*folders):
    """Paths from the root of the checkout."""
    found = []
    for folder in folders:
        for where, dirs, names in os.walk(os.path.join(ROOT, folder)):
            dirs[:] = sorted(d for d in dirs if d not in ("__pycache__", "data"))
            inside = os.path.relpath(where, ROOT).replace(os.sep, "/")
            found.extend(inside + "/" + name for name in names if name.endswith(".py"))
    return sorted(found)


def parse(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    floor = {"feature_version": (3, 7)} if sys.version_info >= (3, 8) else {}
    return ast.parse(text, filename=path, **floor)


def module_of(path):
    words = path[: -len(".py")].split("/")
    return words[:-1] if words[-1] == "__init__" else words


def imported(path, only_at_import=False):
    """Full names of what a file imports; optionally only what runs when it is imported."""
    names = set()
    package = module_of(path)
    if not path.endswith("__init__.py"):
        package = package[:-1]
    waiting = [parse(path)]
    while waiting:
        node = waiting.pop()
        if only_at_import and isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            head = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join(head + ([node.module] if node.module else []))
            names.update("{}.{}".format(start, alias.name) for alias in node.names)
        waiting.extend(ast.iter_child_nodes(node))
    return names


def part_of(name):
    """`ge` for tf_autofuse.ge.graph.Node; None for what is not ours or is the package itself."""
    words = name.split(".")
    return words[1] if words[0] == PACKAGE and len(words) > 1 else None


def parts(path, only_at_import=False):
    return {part_of(name) for name in imported(path, only_at_import)} - {None}


def package_files():
    return python_files(PACKAGE)


def inside(path):
    return path[len(PACKAGE) + 1 :]


def test_the_walk_sees_files_and_imports():
    assert "tf_autofuse/flags.py" in package_files()
    assert "flag_table" in parts("tf_autofuse/flags.py")


@pytest.mark.parametrize("path", package_files())
def test_tensorflow_is_imported_only_where_allowed(path):
    allowed = inside(path).startswith(TENSORFLOW_PARTS)
    lazy = inside(path) in TENSORFLOW_LAZY
    if allowed and not lazy:
        return
    used = {name.split(".")[0] for name in imported(path, only_at_import=lazy)}
    assert not used & {"tensorflow", "keras", "tf_keras"}


@pytest.mark.parametrize(
    "path", [p for p in package_files() if part_of(".".join(module_of(p))) in IR_PARTS]
)
def test_irs_and_the_op_table_import_nothing_above_them(path):
    own = part_of(".".join(module_of(path)))
    assert parts(path) <= BASE | {own} | IR_PARTS[own]


@pytest.mark.parametrize(
    "path", [p for p in package_files() if part_of(".".join(module_of(p))) in BASE]
)
def test_base_imports_only_base(path):
    assert parts(path) <= BASE


def test_parts_form_no_cycle():
    """The op table speaks of loop operations and lowering reads it: the two count as one part."""
    edges = {}
    for path in package_files():
        own = part_of(".".join(module_of(path)))
        if own is not None:
            uses = {"loop" if part == "ops" else part for part in parts(path, only_at_import=True)}
            own = "loop" if own == "ops" else own
            edges.setdefault(own, set()).update(uses - {own})
    while edges:
        leaves = {part for part, uses in edges.items() if not uses & set(edges)}
        assert leaves, "cycle among {}".format(
            {p: sorted(u & set(edges)) for p, u in edges.items()}
        )
        for part in leaves:
            del edges[part]


@pytest.mark.parametrize("path", python_files(PACKAGE, "passes", "examples", "scripts", "tests"))
def test_file_is_python_3_7(path):
    parse(path)


@pytest.mark.parametrize("path", python_files("passes"))
def test_pass_file_imports_on_a_bare_host(path):
    """A pass file on a host without GE, TensorFlow, numpy and this package does nothing."""
    code = "import runpy, sys; runpy.run_path(sys.argv[1])"
    command = [sys.executable, "-I", "-S", "-c", code, os.path.join(ROOT, path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()


def test_importing_the_package_leaves_tensorflow_alone():
    code = (
        "import sys, tf_autofuse\n"
        "heavy = {'tensorflow', 'keras', 'jinja2', 'rich', 'sympy'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    env = dict(os.environ, PYTHONPATH=ROOT)
    done = subprocess.run([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()
