"""Random clusters for the twin: operator lists that lower to one legal kernel."""
from typing import Iterator, List

import numpy as np
from sweep.patterns import COLUMN, MATRIX, ROW, Case, Net, made_case

from tf_autofuse.cluster.legal import check
from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.source import TensorRef

UNARY = ("Abs", "Neg", "Relu", "Square", "Tanh", "Sigmoid")
BINARY = ("Add", "Sub", "Mul", "Maximum", "Minimum")
COMPARE = ("Greater", "LessEqual", "Equal")
REDUCTIONS = ("Sum", "Mean", "Max", "Min")
AXES = ((-1,), (0,), (0, 1))
DTYPES = ("float32", "float16", "bfloat16")


def random_cases(count: int, seed: int = 0) -> Iterator[Case]:
    """`count` legal clusters; the same seed gives the same ones."""
    rng = np.random.RandomState(seed)
    made = 0
    while made < count:
        found = _try_case(rng, "cluster_%d" % made)
        if found is not None:
            made += 1
            yield found


def _try_case(rng, name: str):
    dtype = str(rng.choice(DTYPES))
    state = rng.get_state()

    def make(net: Net):
        rng = np.random.RandomState()
        rng.set_state(state)
        return _cluster(rng, net)

    _cluster(rng, Net(dtype))
    try:
        found = made_case("%s %s" % (name, dtype), make)
        check(found.lowered.kernel)
    except Unsupported:
        return None
    return found


def _cluster(rng, net: Net) -> List[TensorRef]:
    """The tensors that leave a random cluster of the net."""
    tensors = [net.input(*MATRIX)]
    for dims in ((MATRIX, ROW, COLUMN, ())[i] for i in rng.randint(0, 4, 2)):
        tensors.append(net.input(*dims))
    axes = AXES[rng.randint(3)]
    mixed = rng.randint(3) == 0  # several nests in one kernel
    for _ in range(rng.randint(2, 9)):
        here = AXES[rng.randint(3)] if mixed else axes
        tensors.append(_step(rng, net, tensors, here))
    outputs = sorted({len(tensors) - 1} | set(_extra(rng, len(tensors), 3)))
    return [tensors[i] for i in outputs]


def _extra(rng, count: int, inputs: int) -> List[int]:
    return [rng.randint(inputs, count)] if rng.randint(3) == 0 else []


def _step(rng, net: Net, tensors, axes):
    def pick():
        # Later tensors more often, so that chains grow.
        return tensors[max(rng.randint(len(tensors)), rng.randint(len(tensors)))]

    kind = rng.randint(10)
    if kind < 3:
        return net(str(rng.choice(UNARY)), pick())
    if kind < 7:
        return net(str(rng.choice(BINARY)), pick(), pick())
    if kind < 8:
        return net("SelectV2", net(str(rng.choice(COMPARE)), pick(), pick()), pick(), pick())
    return net.reduce(str(rng.choice(REDUCTIONS)), pick(), *axes)
