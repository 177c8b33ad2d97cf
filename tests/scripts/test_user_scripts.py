"""Scripts as users have them, run by ``tf-autofuse run`` and by python: the numbers agree."""

import contextlib
import json
import os
import random
import socket
import subprocess
import sys

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tf_autofuse import standins

pytestmark = pytest.mark.e2e

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "user")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(FOLDER)))
VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])
HAS_ESTIMATOR = VERSION < (2, 16)
TF2 = pytest.mark.skipif(VERSION < (2, 0), reason="of TensorFlow 2")
TOLERANCE = 2e-4  # sums in another order, over some steps of training


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("AUTOFUSE_FLAGS", "DUMP_G"))}
    env.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1", **more)
    env["PYTHONPATH"] = os.pathsep.join([ROOT, env.get("PYTHONPATH", "")])
    return env


def start(name, arguments, env, report=None):
    """The script's process: fused and with a report when there is a place for one."""
    script = [os.path.join(FOLDER, name + ".py")] + list(arguments)
    if report is None:
        env = dict(env, PYTHONPATH=os.pathsep.join([env["PYTHONPATH"], standins.folder()]))
        command = [sys.executable] + script
    else:
        strict = "--flags=--enable_autofuse=true;--strict=true"
        command = [sys.executable, "-m", "tf_autofuse.cli", "run", strict]
        command += ["--report", str(report)] + script
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def numbers(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err.decode()[-3000:]
    return json.loads(out.decode().strip().splitlines()[-1])


def compare(fused, plain):
    assert set(fused) == set(plain)
    for key in fused:
        np.testing.assert_allclose(fused[key], plain[key], TOLERANCE, TOLERANCE, err_msg=key)


def run_both(name, tmp_path, arguments=()):
    """Numbers and report of the fused run; the plain run gave the same numbers."""
    report = tmp_path / "report.json"
    processes = [
        start(name, arguments, environment(), report),
        start(name, arguments, environment()),
    ]
    fused, plain = map(numbers, processes)
    compare(fused, plain)
    return fused, json.loads(report.read_text())


def called_types(report):
    return {kind for entry in report["kernels"] if entry["calls"] for kind in entry["op_types"]}


def test_monitored_session(tmp_path):
    fused, report = run_both("monitored_session", tmp_path)
    assert fused["step"] == 30 and fused["loss"][-1] < fused["loss"][0]
    assert {"Sigmoid", "Mul"} <= called_types(report)
    kept = [entry for entry in report["unfused"] if entry["node"].endswith("kept")]
    assert kept and kept[0]["code"] == "SCOPE"


@pytest.mark.skipif(not HAS_ESTIMATOR, reason="TensorFlow has no tf.estimator any more")
def test_estimator(tmp_path):
    fused, report = run_both("estimator", tmp_path)
    assert fused["step"] == 25 and {"Elu", "Log1p"} & called_types(report)


@pytest.mark.skipif(HAS_ESTIMATOR, reason="TensorFlow has tf.estimator")
def test_an_estimator_script_gets_one_clear_error(tmp_path):
    process = start("estimator", (), environment(), tmp_path / "report.json")
    err = process.communicate(timeout=600)[1].decode()
    assert process.returncode == 1
    assert "tf.estimator, which TensorFlow " + tf.__version__ in err or "feature_column" in err


def test_function_loop(tmp_path):
    fused, report = run_both("function_loop", tmp_path)
    assert fused["loss"][-1] < fused["loss"][0] and "Rsqrt" in called_types(report)


@pytest.mark.parametrize("package", ["keras", "tf_keras"])
def test_keras_fit(tmp_path, package):
    if package == "tf_keras":
        pytest.importorskip("tf_keras")
    fused, report = run_both("keras_fit", tmp_path, [package])
    assert fused["loss"][-1] < fused["loss"][0] and "Sigmoid" in called_types(report)


@TF2
def test_mixed_precision(tmp_path):
    _, report = run_both("mixed_precision", tmp_path)
    assert "Elu" in called_types(report)


@TF2
def test_mirrored_strategy(tmp_path):
    fused, report = run_both("mirrored", tmp_path)
    assert fused["replicas"] == 2 and "Sigmoid" in called_types(report)


@TF2
def test_two_workers_share_the_kernel_cache(tmp_path):
    cache = str(tmp_path / "cache")
    results = []
    for fuse in (True, False):
        processes = []
        ports = [free_port(), free_port()]
        for index in range(2):
            task = {"type": "worker", "index": index}
            cluster = {"worker": ["127.0.0.1:%d" % port for port in ports]}
            config = json.dumps({"cluster": cluster, "task": task})
            env = environment(TF_CONFIG=config, AUTOFUSE_CACHE_DIR=cache)
            report = tmp_path / ("report%d.json" % index) if fuse else None
            processes.append(start("multi_worker", (), env, report))
        results.append([numbers(process) for process in processes])
    for fused, plain in zip(*results):
        assert fused["workers"] == 2
        compare(fused, plain)
    for index in range(2):
        report = json.loads((tmp_path / ("report%d.json" % index)).read_text())
        assert "Tanh" in called_types(report)
    leftovers = [n for _, _, names in os.walk(cache) for n in names if ".tmp" in n]
    assert not leftovers


@TF2
def test_saved_model(tmp_path):
    _, report = run_both("saved_model", tmp_path)
    assert "Abs" in called_types(report)


@TF2
def test_lite_models_are_left_alone(tmp_path):
    fused, report = run_both("lite", tmp_path)
    assert fused["ours"] == 0 and "Sigmoid" in called_types(report)


def free_port():
    """Below the ports that the system gives away by itself: a worker takes seconds to start."""
    while True:
        port = random.randrange(10000, 30000)
        with socket.socket() as listener:
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", port))
                return port
