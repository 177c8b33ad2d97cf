"""Places for the nodes of a graph drawn in layers, producers above their readers.

Longest-path layers, a few sweeps of the barycentre method for the order inside a layer, and
positions that are pulled towards neighbours without overlapping. Near linear in nodes and edges:
10,000 nodes take about a second.
"""

from __future__ import annotations

from typing import List, NamedTuple, Sequence, Tuple

LAYER_GAP = 64.0
NODE_GAP = 18.0
COLUMN_GAP = 160.0
_SWEEPS = 6
_MAX_LAYER = 240
"""Nodes in one row of the picture; a wider layer, as of thousands of constants, takes several."""

_DEEP = 150
_ASPECT = 1.7
_DRIFT = 12
"""Layers from which a graph is folded into columns, how wide the whole then is, and layers up and
down over which its middle is taken."""


class Layout(NamedTuple):
    """Centre of every node, in the units of the widths."""

    x: List[float]
    y: List[float]


def place(widths: Sequence[float], edges: Sequence[Tuple[int, int]]) -> Layout:
    """Centres of the nodes 0 .. len(widths)-1; `edges` are (producer, reader), cycles allowed."""
    count = len(widths)
    readers: List[List[int]] = [[] for _ in range(count)]
    producers: List[List[int]] = [[] for _ in range(count)]
    for source, target in edges:
        if source != target:
            readers[source].append(target)
            producers[target].append(source)
    layers = _rows(_ranks(producers, readers), count)
    x = _first_places(layers, widths)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _order(layer, producers if down else readers, x, widths)
    for layer in layers + layers[::-1]:
        _settle(layer, producers, readers, x, widths)
    if len(layers) > _DEEP:
        _straighten(layers, x)
    return _fold(layers, x, widths)


def _straighten(layers: Sequence[Sequence[int]], x: List[float]) -> None:
    """Take out the slow drift of the middle of a deep graph, so that it stands upright."""
    middles = [sum(x[node] for node in layer) / len(layer) for layer in layers]
    sums = [0.0]
    for middle in middles:
        sums.append(sums[-1] + middle)
    for number, layer in enumerate(layers):
        start, end = max(0, number - _DRIFT), min(len(layers), number + _DRIFT + 1)
        drift = (sums[end] - sums[start]) / (end - start)
        for node in layer:
            x[node] -= drift


def _fold(layers: Sequence[Sequence[int]], x: List[float], widths: Sequence[float]) -> Layout:
    """Layers below each other; those of a very deep graph in columns side by side."""
    west = min((x[node] - widths[node] / 2 for layer in layers for node in layer), default=0.0)
    east = max((x[node] + widths[node] / 2 for layer in layers for node in layer), default=0.0)
    column = east - west + COLUMN_GAP
    count = 1
    if len(layers) > _DEEP:
        count = max(1, round((len(layers) * LAYER_GAP * _ASPECT / column) ** 0.5))
    height = -(-len(layers) // count)
    places, y = list(x), [0.0] * len(x)
    for number, layer in enumerate(layers):
        for node in layer:
            places[node] = x[node] + column * (number // height)
            y[node] = LAYER_GAP * (number % height)
    return Layout(places, y)


def _ranks(producers: List[List[int]], readers: List[List[int]]) -> List[int]:
    """Longest path from a source; a source without producers stands right above its first reader.

    Edges that close a cycle are passed over.
    """
    waiting = [len(sources) for sources in producers]
    rank = [0] * len(producers)
    ready = [node for node, number in enumerate(waiting) if number == 0]
    done = [False] * len(producers)
    start = 0
    while True:
        while ready:
            node = ready.pop()
            if done[node]:
                continue
            done[node] = True
            for reader in readers[node]:
                rank[reader] = max(rank[reader], rank[node] + 1)
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    ready.append(reader)
        while start < len(done) and done[start]:
            start += 1
        if start == len(done):
            break
        ready.append(start)
    for node, sources in enumerate(producers):
        if not sources and readers[node]:
            rank[node] = max(0, min(rank[reader] for reader in readers[node]) - 1)
    return rank


def _rows(ranks: Sequence[int], count: int) -> List[List[int]]:
    """Nodes by rank, in rows of at most `_MAX_LAYER`."""
    layers: List[List[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for node in range(count):
        layers[ranks[node]].append(node)
    return [
        layer[start : start + _MAX_LAYER]
        for layer in layers
        for start in range(0, len(layer), _MAX_LAYER)
    ]


def _first_places(layers: Sequence[Sequence[int]], widths: Sequence[float]) -> List[float]:
    x = [0.0] * len(widths)
    for layer in layers:
        _pack(layer, x, widths)
    return x


def _pack(layer: Sequence[int], x: List[float], widths: Sequence[float]) -> None:
    """Side by side around 0."""
    at = -sum(widths[node] + NODE_GAP for node in layer) / 2
    for node in layer:
        x[node] = at + (widths[node] + NODE_GAP) / 2
        at += widths[node] + NODE_GAP


def _order(
    layer: List[int], neighbours: List[List[int]], x: List[float], widths: Sequence[float]
) -> None:
    """Sort a layer by the mean place of the neighbours; nodes without any keep theirs."""
    want = {
        node: sum(x[other] for other in neighbours[node]) / len(neighbours[node])
        if neighbours[node]
        else x[node]
        for node in layer
    }
    layer.sort(key=lambda node: want[node])
    _spread(layer, [want[node] for node in layer], x, widths)


def _settle(
    layer: List[int],
    producers: List[List[int]],
    readers: List[List[int]],
    x: List[float],
    widths: Sequence[float],
) -> None:
    """Pull every node to the middle of all its neighbours, keeping the order."""
    want = []
    for node in layer:
        others = producers[node] + readers[node]
        want.append(sum(x[other] for other in others) / len(others) if others else x[node])
    _spread(layer, want, x, widths)


def _spread(
    layer: Sequence[int], want: Sequence[float], x: List[float], widths: Sequence[float]
) -> None:
    """Places nearest to `want` (least squares) in this order and without overlap.

    Measured from its place in a packed row, a node's wish must not decrease along the row; the
    nearest such numbers come from pooling neighbours that violate it.
    """
    offsets, at = [], 0.0
    for node in layer:
        offsets.append(at + (widths[node] + NODE_GAP) / 2)
        at += widths[node] + NODE_GAP
    pools: List[List[float]] = []  # [sum of wishes, number of nodes]
    for offset, wish in zip(offsets, want):
        pools.append([wish - offset, 1.0])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            total, number = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += number
    index = 0
    for total, number in pools:
        for _ in range(int(number)):
            x[layer[index]] = total / number + offsets[index]
            index += 1
