"""Run one process for long and look whether anything grows: memory, open files, time per step.

python scripts/soak.py                              20000 training steps, then 2000 graphs
python scripts/soak.py --steps 500 --graphs 60      less of it
python scripts/soak.py --unfused                    the same without fusing, to compare

Prints a line per part: growth of resident memory, of open files and of the time of a step, from
the second quarter of the part to its last. Exit code 0: nothing grows beyond the limits; 1:
something does.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from typing import Any, Callable, List, NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import tf_autofuse  # noqa: E402

tf1 = tf.compat.v1
SAMPLES = 80
# A step may leave nothing behind (what little there is, is the allocator's). A graph leaves an
# entry in the report, of which there is a bounded number.
STEP_BYTES, GRAPH_BYTES = 200.0, 8e3
FILES, SLOWDOWN = 2, 1.5
STRUCTURES = 24


class Sample(NamedTuple):
    """What is seen after `done` rounds: resident bytes, open files, seconds of the fastest round
    (others may use the machine, too)."""

    done: int
    memory: int
    files: int
    seconds: float


def resident() -> int:
    """Resident bytes of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def watch(rounds: int, work: Callable[[int], None], count: int = SAMPLES) -> List[Sample]:
    """About `count` samples over `rounds` calls of `work`."""
    samples: List[Sample] = []
    each = max(1, rounds // count)
    for start in range(0, rounds, each):
        end = min(rounds, start + each)
        times = []
        for number in range(start, end):
            before = time.perf_counter()
            work(number)
            times.append(time.perf_counter() - before)
        gc.collect()
        files = len(os.listdir("/proc/self/fd"))
        samples.append(Sample(end, resident(), files, min(times)))
    return samples


def judge(name: str, samples: List[Sample], limit: float, slowdown: float) -> bool:
    """Print the growth from the second quarter to the last; whether it is within the limits."""
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    rounds = float(np.mean([s.done for s in late]) - np.mean([s.done for s in early]))
    grown = float(np.median([s.memory for s in late]) - np.median([s.memory for s in early]))
    files = max(s.files for s in late) - max(s.files for s in early)
    slower = float(np.median([s.seconds for s in late]) / np.median([s.seconds for s in early]))
    good = grown / rounds <= limit and files <= FILES and slower <= slowdown
    print(
        "{}: {} rounds, {:.0f} MB, {:+.0f} bytes a round, {:+d} files, time x {:.2f}: {}".format(
            name, samples[-1].done, samples[-1].memory / 1e6, grown / rounds, files, slower,
            "ok" if good else "GROWS",
        )
    )  # fmt: skip
    return good


def training() -> Any:
    """A step of a small classifier, in one session."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 32])
        labels = tf1.placeholder(tf.int32, [None])
        weights = tf1.get_variable("w", [32, 8], initializer=tf1.random_normal_initializer(seed=1))
        logits = tf.nn.relu(tf.matmul(tf.abs(x) * 0.5 + 0.1, weights) * 2.0)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
        step = tf1.train.GradientDescentOptimizer(0.01).minimize(loss)
        start = tf1.global_variables_initializer()
    session = tf1.Session(graph=graph)
    session.run(start)
    random = np.random.RandomState(0)

    def work(number: int) -> None:
        rows = 16 + number % 3
        feeds = {x: random.randn(rows, 32).astype("float32"), labels: random.randint(0, 8, rows)}
        session.run([loss, step], feeds)

    return work


def new_graph(number: int) -> None:
    """Make, fuse and run a graph that was not there before; its structure is one of a few."""
    chain = [tf.abs, tf.nn.relu, tf.exp, tf.square, tf.tanh]
    width = 8 + number % 50
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None, width], name="x{}".format(number))
        y = x
        for place in range(2 + number % 3):
            y = chain[(number % STRUCTURES // 3 + place) % len(chain)](y) * 0.5
        y = tf.identity(y, name="y{}".format(number))
        with tf1.Session() as session:
            session.run(y, {x: np.ones((4, width), np.float32)})


def main(argv: List[str]) -> int:
    """Exit code 1 when something grows."""
    parser = argparse.ArgumentParser(description="Look for what grows in a long process.")
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--unfused", action="store_true", help="the same without fusing")
    parser.add_argument("--any-time", action="store_true", help="let steps become slower")
    options = parser.parse_args(argv)
    slowdown = float("inf") if options.any_time else SLOWDOWN
    if not options.unfused:
        tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    good = []
    if options.steps:
        good.append(judge("training steps", watch(options.steps, training()), STEP_BYTES, slowdown))
    if options.graphs:
        good.append(judge("new graphs", watch(options.graphs, new_graph), GRAPH_BYTES, slowdown))
    print("{} fused kernels reported".format(len(tf_autofuse.report().kernels)))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
