"""The compiler: finding it, its time limit, its errors."""

import os
import stat
import sys

import pytest
from processes import is_running, wait_for

from tf_autofuse.build import find_toolchain
from tf_autofuse.build.toolchain import compile_shared, run_tool
from tf_autofuse.errors import BuildError


def test_finds_a_compiler_with_version_and_digest():
    toolchain = find_toolchain()
    assert os.path.isabs(toolchain.command[0])
    assert toolchain.version[0].isdigit() or "lang" in toolchain.version.lower()
    assert len(toolchain.digest) == 64


def test_cxx_is_honoured_with_its_words(monkeypatch, tmp_path):
    real = find_toolchain().command[0]
    wrapper = tmp_path / "my cxx"
    wrapper.write_text('#!/bin/sh\nexec "{}" "$@"\n'.format(real))
    wrapper.chmod(0o700)
    monkeypatch.setenv("CXX", "'{}' -DMARK=1".format(wrapper))
    toolchain = find_toolchain()
    assert toolchain.command == (str(wrapper), "-DMARK=1")
    monkeypatch.setenv("CXX", "'{}' -DMARK=2".format(wrapper))
    assert find_toolchain().digest != toolchain.digest


@pytest.mark.parametrize("cxx", ["no-such-compiler-here", "'unbalanced", "false"])
def test_bad_cxx_is_a_build_error(monkeypatch, cxx):
    monkeypatch.setenv("CXX", cxx)
    with pytest.raises(BuildError):
        find_toolchain()


def test_no_compiler_at_all(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="no C\\+\\+ compiler"):
        find_toolchain()


def test_time_limit_ends_the_children_too(tmp_path):
    script = tmp_path / "slow.sh"
    note = tmp_path / "pid"
    script.write_text('#!/bin/sh\nsleep 600 &\necho $! >"{}"\nsleep 600\n'.format(note))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(BuildError, match="did not end within"):
        run_tool([str(script)], seconds=1)
    pid = note.read_text().strip()
    wait_for(lambda: not is_running(pid))


def test_arguments_are_no_shell_text(tmp_path):
    target = tmp_path / "touched"
    text, code = run_tool([sys.executable, "-c", "import sys; print(sys.argv[1])",
                           "$(touch {})".format(target)], seconds=20)
    assert code == 0 and text.strip() == "$(touch {})".format(target)
    assert not target.exists()


def test_compiler_error_keeps_command_and_output(tmp_path):
    source = tmp_path / "bad.cc"
    source.write_text("int f() { return missing_name; }\n")
    with pytest.raises(BuildError, match="missing_name") as caught:
        compile_shared(find_toolchain(), str(source), str(tmp_path / "x.so"), ["-shared"], [])
    assert caught.value.returncode not in (0, None)
    assert "missing_name" in caught.value.output
    assert caught.value.command[-1] == str(source)
    assert not (tmp_path / "x.so").exists()
