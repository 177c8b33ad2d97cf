"""``tf-autofuse`` in a process of its own."""

import os
import subprocess
import sys

FLAGS = ("AUTOFUSE_FLAGS", "AUTOFUSE_DFX_FLAGS")


def tf_autofuse(*arguments, cwd=None, **environment):
    """The finished process, its output as text."""
    env = {name: value for name, value in os.environ.items() if name not in FLAGS}
    env.update(environment, TF_CPP_MIN_LOG_LEVEL="3")
    env["PYTHONPATH"] = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tf_autofuse.cli"] + list(map(str, arguments)),
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
    )
