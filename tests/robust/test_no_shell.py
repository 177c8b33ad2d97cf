"""Nothing that comes from a model, a dump or a flag can become code: no shell, no eval."""

import ast
import os
import re

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FORBIDDEN = {
    "eval", "exec", "compile", "os.system", "os.popen", "pickle.load", "pickle.loads",
    "marshal.loads", "yaml.load", "numpy.load", "np.load", "subprocess.getoutput",
    "subprocess.getstatusoutput", "asyncio.create_subprocess_shell", "os.execl", "os.execlp",
    "os.spawnl", "os.spawnlp", "dill.load", "joblib.load",
}  # fmt: skip


def files(folders, endings):
    for folder in folders:
        for where, dirs, names in os.walk(os.path.join(ROOT, folder)):
            dirs[:] = [name for name in dirs if name not in ("__pycache__", "_lib")]
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.join(where, name)


def called(node):
    """`os.system` for a call of it; the last words of what cannot be named otherwise."""
    words, at = [], node.func
    while isinstance(at, ast.Attribute):
        words.insert(0, at.attr)
        at = at.value
    return ".".join([at.id] + words) if isinstance(at, ast.Name) else ".".join(words)


def faults(path):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        shell = [key for key in node.keywords if key.arg == "shell"]
        if called(node) in FORBIDDEN or shell:
            yield "{}:{}: {}".format(os.path.relpath(path, ROOT), node.lineno, called(node))


def test_python():
    paths = list(files(["tf_autofuse", "passes", "csrc"], (".py",)))
    assert len(paths) > 50
    assert [fault for path in paths for fault in faults(path)] == []


def test_the_walk_finds_them(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("import os, subprocess as s\nos.system(x)\ns.run(x, shell=True)\neval(x)\n")
    assert len(list(faults(str(bad)))) == 3


@pytest.mark.parametrize("word", ["system", "popen", "execlp", "execvp", "wordexp"])
def test_cpp(word):
    call = re.compile(r"(?<![\w.>])(std::|::)?%s\(" % word)
    for path in files(["csrc"], (".cc", ".h")):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                assert not call.search(line.split("//")[0]), "{}:{}".format(path, number)
