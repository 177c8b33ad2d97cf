"""The commands that look after the machine: cache, env --check, completion; and the help of all."""

import json
import os
import shutil
import subprocess

import pytest

from tf_autofuse.build.cache import KernelCache
from tf_autofuse.cli import health, style
from tf_autofuse.cli import main as cli


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with two kernels of which one is damaged, and a bundle."""
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path))
    store = KernelCache(str(tmp_path / "kernels"))

    def build(_, library):
        with open(library, "wb") as file:
            file.write(b"library")

    for key in ("a" * 64, "b" * 64):
        path = store.insert(key, "label-" + key[0], "source", build)
    with open(path, "ab") as file:
        file.write(b"!")
    bundle = tmp_path / "bundles" / "gen" / "key"
    bundle.mkdir(parents=True)
    (bundle / "kernel.cpp").write_text("12345")
    return store


def run(capsys, *words):
    code = cli.main(list(words))
    return code, json.loads(capsys.readouterr().out)


def test_cache_list_and_size(cache, capsys):
    code, found = run(capsys, "cache", "list", "--json")
    assert code == 0 and {e["label"] for e in found["entries"]} == {"label-a", "label-b"}
    code, found = run(capsys, "cache", "size", "--json")
    assert (code, found["kernels"], found["bundles"], found["bundle_bytes"]) == (0, 2, 1, 5)
    assert found["kernel_bytes"] == sum(entry.size for entry in cache.entries())
    assert cli.main(["cache", "list"]) == 0
    out = capsys.readouterr().out
    assert "label-a" in out and "2 entries in" in out


def test_cache_verify_finds_and_repairs(cache, capsys):
    used = {entry.key: entry.used for entry in cache.entries()}
    code, found = run(capsys, "cache", "verify", "--json")
    assert code == 1 and [entry["key"] for entry in found["damaged"]] == ["b" * 64]
    assert "not the one that was stored" in found["damaged"][0]["problem"]
    # Looking is not using.
    assert {entry.key: entry.used for entry in cache.entries()} == used
    code, found = run(capsys, "cache", "verify", "--repair", "--json")
    assert code == 0 and len(found["removed"]) == 1
    assert cli.main(["cache", "verify"]) == 0
    assert capsys.readouterr().out == "1 entries checked, 0 damaged\n"


def test_graphs_lie_among_the_kernels(cache, capsys):
    cache.insert("c" * 64, "graph step", "x", lambda _, path: open(path, "wb").close())
    code, found = run(capsys, "cache", "size", "--json")
    assert (code, found["kernels"], found["graphs"]) == (0, 2, 1)
    assert found["kernel_bytes"] + found["graph_bytes"] == sum(e.size for e in cache.entries())
    assert cli.main(["cache", "size"]) == 0
    assert "2 kernels " in capsys.readouterr().out
    assert cli.main(["cache", "clear"]) == 0
    assert "removed 2 kernels, 1 graphs and 1 bundles" in capsys.readouterr().out


def test_cache_clear(cache, capsys):
    code, found = run(capsys, "cache", "clear", "--json")
    assert (code, found["kernels"], found["bundles"]) == (0, 2, 1)
    assert cache.entries() == [] and not os.path.exists(os.path.join(found["folder"], "bundles"))


def test_a_cache_that_cannot_be_had_is_bad_input(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "file"))
    assert cli.main(["cache", "size"]) == cli.BAD_INPUT
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_problems_come_with_what_helps(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("AUTOFUSE_FLAGS", "--enable_autofuse=true;--autofuse_enable_pgo=true")
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(tmp_path))
    monkeypatch.setenv("DUMP_GE_GRAPH", "")
    found = {problem.text: problem.fix for problem in health.problems()}
    texts = "\n".join(found)
    for text in ("no-such-compiler", "cannot be written", "nothing is dumped"):
        assert text in texts
    assert any("DUMP_GE_GRAPH=2" in fix for fix in found.values()) and all(found.values())
    code, told = run(capsys, "env", "--check", "--json")
    assert code == 1 and len(told["problems"]) == len(found) and "numpy" in told["facts"]
    assert cli.main(["env"]) == 0 and "    fix: " in capsys.readouterr().out


@pytest.mark.parametrize("shell", ("bash", "zsh"))
def test_completion(shell, capsys, tmp_path):
    assert cli.main(["completion", shell]) == 0
    code = capsys.readouterr().out
    assert ("bashcompinit" in code) == (shell == "zsh")
    if shell == "zsh" or not shutil.which("bash"):
        return
    path = tmp_path / "completion.bash"
    path.write_text(code)

    def complete(*words):
        ask = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tf_autofuse; ' \
            'echo "${COMPREPLY[@]}"'  # fmt: skip
        command = ["bash", "-c", ask, str(path), "tf-autofuse"] + list(words)
        return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.split()

    assert complete("ver") == ["verify"]
    assert complete("verify", "--n") == ["--numeric"]
    assert complete("cache", "cl") == ["clear"]


def test_every_command_has_examples_and_exit_codes(capsys):
    for module in cli.COMMANDS:
        name = module.__name__.rsplit(".", 1)[-1]
        with pytest.raises(SystemExit):
            cli.main([name, "--help"])
        text = capsys.readouterr().out
        assert "examples:" in text, name
        assert "exit code:" in text or name == "completion", name


def test_colours_are_for_terminals_only(monkeypatch):
    assert style.paint("x", "red") == "x"
    monkeypatch.setattr(style.sys, "stdout", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert style.paint("x", "red") == "\033[31mx\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert style.paint("x", "red") == "x"


def test_tables_line_up_with_chinese_letters():
    lines = style.table([("", "融合"), ("name", "1")])
    assert lines == ["      融合", "name     1"]
