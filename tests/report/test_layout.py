"""Places of the nodes in the picture."""

import random

import pytest

from tf_autofuse.report.layout import LAYER_GAP, place


def chain(count, seed):
    rng = random.Random(seed)
    edges = []
    for node in range(1, count):
        for _ in range(rng.choice((1, 1, 2, 3))):
            edges.append((rng.randrange(max(0, node - 30), node), node))
    return edges


@pytest.mark.parametrize("count", (1, 2, 300, 10000))
def test_readers_stand_below_and_nothing_overlaps(count):
    rng = random.Random(count)
    widths = [rng.uniform(40, 200) for _ in range(count)]
    edges = chain(count, count)
    spots = place(widths, edges)
    # Down, or in a column further to the right.
    assert all(spots.y[a] < spots.y[b] or spots.x[a] < spots.x[b] for a, b in edges)
    rows = {}
    for node in range(count):
        rows.setdefault(spots.y[node], []).append(node)
    for row in rows.values():
        row.sort(key=lambda node: spots.x[node])
        for left, right in zip(row, row[1:]):
            assert spots.x[right] - spots.x[left] >= (widths[left] + widths[right]) / 2


def test_a_constant_stands_right_above_its_reader():
    spots = place([50.0] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert spots.y[3] - spots.y[4] == LAYER_GAP


def test_a_chain_is_a_straight_line():
    spots = place([40.0, 90.0, 60.0], [(0, 1), (1, 2)])
    assert spots.x[0] == pytest.approx(spots.x[1]) == pytest.approx(spots.x[2])


def test_a_deep_graph_is_folded_into_a_picture_that_fits_a_screen():
    spots = place([60.0] * 5000, [(i, i + 1) for i in range(4999)])
    wide, high = max(spots.x) - min(spots.x), max(spots.y)
    assert 1 < wide / high < 2.5


def test_cycles_and_wide_layers_have_places():
    assert len(set(zip(*place([50.0] * 3, [(0, 1), (1, 2), (2, 0), (1, 1)])))) == 3
    wide = place([50.0] * 2000, [])
    assert len(set(zip(*wide))) == 2000 and max(wide.x) < 20000
    assert place([], []) == ([], [])
