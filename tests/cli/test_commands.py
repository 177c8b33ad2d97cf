"""The other commands, and the summary of a report."""

import os
import subprocess
import sys

import pytest

from tf_autofuse import paths, verify
from tf_autofuse.cli import main as cli
from tf_autofuse.cli import script
from tf_autofuse.cli.summary import summary_lines
from tf_autofuse.errors import DumpError
from tf_autofuse.report.model import KernelEntry, Report, UnfusedEntry
from tf_autofuse.verify import FusedNode, VerifyResult


def test_env_prints_versions_flags_and_folders(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("AUTOFUSE_FLAGS", "--enable_autofuse=true")
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path))
    assert cli.main(["env"]) == 0
    out = capsys.readouterr().out
    for text in ("numpy", "g++", "enable_autofuse=True", str(tmp_path)):
        assert text in out


def test_env_names_a_wrong_flag(monkeypatch, capsys):
    monkeypatch.setenv("AUTOFUSE_FLAGS", "--enable_autofuse=1")
    assert cli.main(["env"]) == cli.BAD_INPUT
    assert "--enable_autofuse=true" in capsys.readouterr().err


def test_env_for_cann_is_shell_code(capsys):
    assert cli.main(["env", "--cann"]) == 0
    expected = 'export ASCEND_GE_PY_PASS_PATH="{}"\n'.format(paths.passes_dir())
    assert capsys.readouterr().out == expected


NODE = FusedNode(
    "autofused_0", "autofused_0", "g", "AutofusedKernel", "k", ["a", "b"], ["Abs", "Exp"], [], []
)


def test_a_reader_that_has_seen_enough():
    """As with `| head`: no complaint."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "tf_autofuse.cli", "completion", "bash"]
    env = dict(os.environ, PYTHONPATH=os.path.dirname(paths.package_dir()))
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, env=env)
    os.close(write_end)
    assert done.returncode == 141 and done.stderr == b""


@pytest.fixture
def verifier(monkeypatch):
    """A function that lets verify_dumps give a result or raise an error."""

    def use(result):
        def verify_dumps(_):
            if isinstance(result, Exception):
                raise result
            return result

        monkeypatch.setattr(verify, "verify_dumps", verify_dumps)

    return use


def test_verify_tells_by_its_exit_code(verifier, capsys, tmp_path):
    verifier(VerifyResult(fused=[NODE]))
    assert cli.main(["verify", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("autofused_0", "Abs", "Exp"))
    verifier(VerifyResult(problems=["operator c is lost"]))
    assert cli.main(["verify", str(tmp_path)]) == 1
    assert "operator c is lost" in capsys.readouterr().out
    assert cli.main(["verify", str(tmp_path), "--json"]) == 1
    assert '"ok": false' in capsys.readouterr().out


def test_verify_names_a_damaged_dump(verifier, capsys, tmp_path):
    verifier(DumpError("unexpected end", path="ge_proto_00000000.txt", line=12))
    assert cli.main(["verify", str(tmp_path)]) == cli.BAD_INPUT
    assert "ge_proto_00000000.txt:12" in capsys.readouterr().err
    assert cli.main(["verify", os.path.join(str(tmp_path), "gone")]) == cli.BAD_INPUT
    assert "no such folder" in capsys.readouterr().err


def kernel(calls, gm, unfused):
    return KernelEntry("k", "key", ("a", "b"), ("Abs", "Exp"), (), (), gm, unfused, gm, "", calls)


def test_summary_counts_kernels_calls_bytes_and_reasons():
    unfused = [UnfusedEntry("n", "MatMul", "OP_UNKNOWN", "r")] * 2
    unfused.append(UnfusedEntry("m", "Abs", "SINGLE", "r"))
    report = Report((kernel(10, 1024, 2048), kernel(3, None, None)), tuple(unfused))
    assert summary_lines(report) == [
        "2 kernels fused from 4 operators, 13 calls, 10 KiB of memory traffic saved",
        "3 operators left alone: OP_UNKNOWN 2, SINGLE 1",
    ]
    assert summary_lines(Report((), ()))[0].startswith("0 kernels fused from 0 operators, 0 calls")


def test_when_imported_acts_once_and_leaves_the_loader_alone(tmp_path, monkeypatch):
    (tmp_path / "autofuse_test_module.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    finders = list(sys.meta_path)
    seen = []
    script.when_imported("autofuse_test_module", lambda: seen.append("first"))
    import autofuse_test_module

    script.when_imported("autofuse_test_module", lambda: seen.append("second"))
    assert seen == ["first", "second"] and sys.meta_path == finders
    assert "exec_module" not in vars(autofuse_test_module.__spec__.loader)
