"""A part of Keras's own tests passes fused as it does unfused; scripts/keras_suite.sh runs all."""

import importlib.util
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PARTS = ("activations", "losses/losses_test.py", "layers/normalization", "optimizers/adam_test.py")


@pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="keras is not installed")
def test_keras_tests_pass_fused(tmp_path):
    script = os.path.join(ROOT, "scripts", "keras_suite.py")
    command = [sys.executable, script, "--state", str(tmp_path), *PARTS]
    done = subprocess.run(command, capture_output=True, timeout=1200)
    text = done.stdout.decode()
    assert done.returncode == 0, text + done.stderr.decode()[-2000:]
    words = text.splitlines()[-1].split()
    passed, kernels = int(words[0]), int(words[words.index("changed;") + 1])
    assert passed >= 250 and kernels >= 20, text
    # What is done is not run again.
    again = subprocess.run(command, capture_output=True, timeout=60)
    assert again.stdout.decode().splitlines()[-1] == text.splitlines()[-1]
