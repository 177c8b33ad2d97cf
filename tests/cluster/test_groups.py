"""The graph of groups against a slow one: random graphs, random merges."""
import random

import pytest

from tf_autofuse.cluster.groups import GroupGraph


class SlowGraph:
    """Groups as sets of nodes; paths by walking everything."""

    def __init__(self, count, edges):
        self.group = {node: node for node in range(count)}
        self.edges = edges

    def successors(self, group):
        found = {self.group[b] for a, b in self.edges if self.group[a] == group}
        return found - {group}

    def path_around(self, first, second):
        stack = [group for group in self.successors(first) if group != second]
        seen = set(stack)
        while stack:
            group = stack.pop()
            for near in self.successors(group):
                if near == second:
                    return True
                if near not in seen:
                    seen.add(near)
                    stack.append(near)
        return False

    def merge(self, one, other, name):
        for node, group in self.group.items():
            if group in (one, other):
                self.group[node] = name


def random_graph(count, rng):
    """Edges along a hidden order, and that order."""
    order = list(range(count))
    rng.shuffle(order)
    edges = set()
    for place in range(1, count):
        for _ in range(rng.randint(0, 3)):
            edges.add((order[rng.randrange(max(0, place - 9), place)], order[place]))
    return order, sorted(edges)


@pytest.mark.parametrize("seed", range(12))
def test_gaps_and_order_are_those_of_a_slow_graph(seed):
    rng = random.Random(seed)
    order, edges = random_graph(40, rng)
    slow = SlowGraph(40, edges)
    fast = GroupGraph(order, {n: [b for a, b in edges if a == n] for n in order})
    merges = refused = 0
    for _ in range(150):
        groups = sorted(set(slow.group.values()))
        one, other = rng.sample(groups, 2)
        if fast.stands_before(other, one):
            one, other = other, one
        assert not slow.path_around(other, one) and one not in slow.successors(other)
        assert fast.leads_to(one, other) == (other in slow.successors(one))
        gap = fast.gap(one, other)
        assert (gap is None) == slow.path_around(one, other)
        if gap is None:
            refused += 1
        elif rng.random() < 0.3:
            slow.merge(one, other, fast.merge(gap))
            merges += 1
        if len(groups) < 4:
            break
    assert merges > 5
    for group in set(slow.group.values()):
        assert all(fast.stands_before(group, near) for near in slow.successors(group))


def test_edges_against_the_order_do_not_count():
    graph = GroupGraph([0, 1, 2], {0: [1], 1: [2], 2: [0]})
    assert graph.leads_to(1, 2) and not graph.leads_to(2, 0)
    assert graph.gap(0, 1) is not None
    assert graph.gap(0, 2) is None


def test_many_insertions_at_one_place_keep_the_order():
    count = 200
    chain = list(range(count))
    graph = GroupGraph(chain + [count], {**{n: [] for n in chain}, count: []})
    last = count
    for node in chain[1:]:  # each is put next to the group at the end
        first, second = (node, last) if graph.stands_before(node, last) else (last, node)
        last = graph.merge(graph.gap(first, second))
    assert graph.stands_before(0, last)
