"""scripts/build_cann.sh over stand-in headers, and a host where CANN's environment is in force."""
import os
import subprocess

import pytest
from cann_build import HERE
from ge_process import ROOT, compile_graph
from nets import Net

SCRIPT = os.path.join(ROOT, "scripts", "build_cann.sh")


def build(out, **env):
    variables = {"PATH": os.environ["PATH"], "HOME": str(out), "PYTHON": "false"}
    variables.update(env)
    done = subprocess.run([SCRIPT, str(out)], env=variables, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)  # fmt: skip
    return done.returncode, done.stdout.decode()


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    toolkit = tmp_path_factory.mktemp("toolkit")
    (toolkit / "include").symlink_to(os.path.join(HERE, "include"))
    (toolkit / "lib64").mkdir()
    out = tmp_path_factory.mktemp("cann")
    code, text = build(out, ASCEND_HOME_PATH=str(toolkit))
    assert code == 0, text
    assert "export ASCEND_CUSTOM_OPP_PATH={}".format(out) in text
    return out


def test_one_clear_message_without_cann(tmp_path):
    code, text = build(tmp_path)
    assert code != 0 and len(text.strip().splitlines()) == 1
    assert "ASCEND_HOME_PATH is not set" in text


def test_the_layout_is_what_ge_looks_for(installed):
    machine = os.uname().machine
    assert (installed / "op_graph/lib/linux" / machine / "libtf_autofuse_ge.so").exists()
    assert (installed / "op_graph/include/op_proto.h").exists()
    assert (installed / "python/autofused_kernel.py").exists()


def small():
    net = Net(8, 32)
    return net.graph(net("Exp", net("Abs", net.data())))


def test_without_the_operator_the_graph_stays(tmp_path):
    done = compile_graph(small(), tmp_path, ASCEND_OPP_PATH="/opp")
    assert done.code == 0 and not done.nodes("AutofusedKernel")
    assert "scripts/build_cann.sh" in done.text


@pytest.mark.parametrize("where", ["", "python"])
def test_with_the_operator_the_bundle_is_built(installed, tmp_path, where):
    done = compile_graph(small(), tmp_path, ASCEND_OPP_PATH="/opp",
                         ASCEND_CUSTOM_OPP_PATH=str(installed / where))  # fmt: skip
    folder = done.fused().get_attr("bundle_dir")
    assert os.path.exists(os.path.join(folder, "libautofuse_tiling.so"))


def test_a_kernel_that_does_not_build_leaves_the_operators(installed, tmp_path):
    bisheng = tmp_path / "bisheng"
    bisheng.write_text("#!/bin/sh\necho error: not today\nexit 1\n")
    bisheng.chmod(0o755)
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    done = compile_graph(small(), tmp_path, ASCEND_OPP_PATH="/opp", PATH=path,
                         ASCEND_CUSTOM_OPP_PATH=str(installed))  # fmt: skip
    assert done.code == 0 and not done.nodes("AutofusedKernel")
    assert "not today" in done.text
