"""How many bytes of global memory loop nests move."""
from __future__ import annotations

from typing import Dict, Sequence

from tf_autofuse.kernel.nest import Nest, needed
from tf_autofuse.loop.ir import PARTS, Inside, Load, LoopKernel, Param
from tf_autofuse.loop.ops import item_bytes


def moved_bytes(kernel: LoopKernel, nests: Sequence[Nest], sizes: Dict[str, int],
                workspace: bool = False) -> int:
    """Bytes that the nests read and write; a nest reads each input once. What goes from stage to
    stage stays in a cache as far as it fits there: it counts once. Partial results do not.

    With `workspace` both count whenever they are written or read.
    """
    total, insides = 0, kernel.insides
    for nest in nests:
        stores = [kernel.stores[number] for number in nest.stores]
        found = needed(kernel, [store.value for store in stores])
        loads = {value.input: value for value in found if isinstance(value, Load)}
        total += sum(_bytes(kernel.sources[number], load.axes if load.at else load.walked,
                            _parts(kernel, insides, load, sizes))
                     for number, load in loads.items()
                     if workspace or number < len(kernel.inputs))
        total += sum(_bytes(kernel.targets[store.output], store.axes, sizes)
                     for store in stores if workspace or PARTS not in store.axes)
    return total


def _parts(
    kernel: LoopKernel, insides: Sequence[Inside], load: Load, sizes: Dict[str, int]
) -> Dict[str, int]:
    """The sizes of axes, less the points where `load` reads nothing, as far as these are known."""
    found = dict(sizes)
    for inside in insides if load.when and kernel.intervals else ():
        if inside.name in load.when:
            found[inside.axes[0]] -= sum(kernel.intervals[inside.number])
    return found


def _bytes(param: Param, axes: Sequence[str], sizes: Dict[str, int]) -> int:
    count = item_bytes(param.dtype)
    for axis in axes:
        count *= sizes[axis]
    return count
