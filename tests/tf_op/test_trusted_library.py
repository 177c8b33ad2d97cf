"""The op loads a library only unchanged, and only from where nobody else can write."""

import hashlib
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tf_op_graphs import fused_graph, tf1

PAIR = "v1;axes=2;groups=0,0;in=0.1;out=0.1/0.1;"

pytestmark = pytest.mark.usefixtures("shim")


def run(library, digest=None):
    graph, (x,), outputs = fused_graph(
        library, PAIR, [np.float32], [np.float32] * 2, host_digest=digest or "")
    with tf1.Session(graph=graph) as session:
        return session.run(outputs[0], {x: np.full((2, 2), -3, np.float32)})


@pytest.fixture()
def copy(kernel_library, tmp_path):
    """A library that this process has not opened yet."""
    path = str(tmp_path / "kernel.so")
    shutil.copy(kernel_library("ABS_AND_EXP"), path)
    return path


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def test_with_its_digest(copy):
    np.testing.assert_array_equal(run(copy, sha256(copy)), np.full((2, 2), 3))
    os.remove(copy)  # open by now, and another graph may still name it
    np.testing.assert_array_equal(run(copy, sha256(os.path.realpath("/proc/self/exe"))),
                                  np.full((2, 2), 3))


def test_changed(copy):
    digest = sha256(copy)
    with open(copy, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="was changed after the graph"):
        run(copy, digest)


@pytest.mark.parametrize("place", ["file", "folder"])
@pytest.mark.parametrize("mode", [0o777, 0o722])
def test_others_could_write(copy, place, mode):
    os.chmod(copy if place == "file" else os.path.dirname(copy), mode)
    with pytest.raises(tf.errors.InvalidArgumentError, match="others may write to"):
        run(copy, sha256(copy))


def test_in_a_folder_with_the_sticky_bit(copy):
    os.chmod(os.path.dirname(copy), 0o1777)
    np.testing.assert_array_equal(run(copy, sha256(copy)), np.full((2, 2), 3))


def test_of_another_user(copy):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(copy, 12345, 12345)
    with pytest.raises(tf.errors.InvalidArgumentError, match="belongs to user 12345"):
        run(copy, sha256(copy))
