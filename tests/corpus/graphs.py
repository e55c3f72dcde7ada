"""Graphs in CSR form: frontiers, components, shortest paths."""

from __future__ import annotations

import numpy as np
from numba import cuda

NODES = 60
FAR = 1_000_000


def random_graph(rng):
    """Undirected: offsets, neighbours."""
    pairs = rng.integers(0, NODES, (110, 2))
    pairs = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.searchsorted(pairs[:, 0], np.arange(NODES + 1)), pairs[:, 1].copy()


def distances(offsets, neighbours):
    """Levels of a breadth-first search from three vertices, -1 where it does not come."""
    levels = np.full(NODES, -1)
    levels[:3] = 0
    frontier, depth = [0, 1, 2], 0
    while frontier:
        depth += 1
        found = {int(w) for v in frontier for w in neighbours[offsets[v] : offsets[v + 1]] if levels[w] < 0}
        for w in found:
            levels[w] = depth
        frontier = sorted(found)
    return levels


def queue_step(offsets, neighbours, levels, depth, queue, tail, after, after_tail):
    """Who finds a vertex first puts it into the next queue: compare and swap decides."""
    i = cuda.grid(1)
    if i < tail[0]:
        # wrong: if i <= tail[0]: -> uninitialised-read on queue at: v = queue[i]
        v = queue[i]
        for e in range(offsets[v], offsets[v + 1]):
            w = neighbours[e]
            before = cuda.atomic.cas(levels, w, -1, depth)
            # wrong: before, levels[w] = levels[w], depth -> race on levels
            if before == -1:
                place = cuda.atomic.add(after_tail, 0, 1)
                # wrong: place = after_tail[0] -> race on after at: after[place] = w
                after[place] = w


def put(queue):
    queue[cuda.grid(1)] = cuda.grid(1)


def fill_up(queue, tail):
    """What a queue does not use gets a value at last."""
    i = cuda.grid(1)
    if tail[0] <= i < queue.size:
        queue[i] = -1


def run_queue_step(bench):
    offsets, neighbours = random_graph(bench.rng)
    levels = np.full(NODES, -1)
    levels[:3] = 0
    queue, tail = bench.device_array(NODES, np.int64), np.full(1, 3)
    bench.launch(put, 1, 3, queue)
    for depth in range(1, 8):
        after, after_tail = bench.device_array(NODES, np.int64), np.zeros(1, np.int64)
        bench.launch(queue_step, 2, 32, offsets, neighbours, levels, depth, queue, tail, after, after_tail)
        bench.launch(fill_up, 2, 32, queue, tail)
        queue, tail = after, after_tail
    bench.launch(fill_up, 2, 32, queue, tail)
    return [(levels, distances(offsets, neighbours))]


def mask_step(offsets, neighbours, levels, after, depth, changed):
    """Everybody who finds a vertex writes the same: no harm, and a warning."""
    # warns: same-value-writes
    v = cuda.grid(1)
    if v < levels.size and levels[v] == depth - 1:
        for e in range(offsets[v], offsets[v + 1]):
            # wrong: for e in range(offsets[v], neighbours.size + 1): -> out-of-bounds on neighbours at: w =
            w = neighbours[e]
            if levels[w] < 0:
                after[w] = depth
                # wrong: after[w] = v -> race on after
                # wrong: levels[w] = depth -> race on levels
                changed[0] = 1


def run_mask_step(bench):
    offsets, neighbours = random_graph(bench.rng)
    levels = np.full(NODES, -1)
    levels[:3] = 0
    for depth in range(1, 8):
        after = levels.copy()
        bench.launch(mask_step, 2, 32, offsets, neighbours, levels, after, depth, np.zeros(1, np.int64))
        levels = after
    return [(levels, distances(offsets, neighbours))]


def components(edges, parents):
    """Union and find: roots are hooked below smaller roots by compare and swap; paths are read as they are."""
    # warns: mixed-atomic
    e = cuda.grid(1)
    if e < edges.shape[0]:
        a, b = edges[e, 0], edges[e, 1]
        while True:
            while parents[a] != a:
                a = parents[a]
            while parents[b] != b:
                b = parents[b]
            if a == b:
                break
            if a < b:
                a, b = b, a
            before = cuda.atomic.cas(parents, a, a, b)
            # wrong: before, parents[a] = parents[a], b -> race on parents
            if before == a:
                break


def run_components(bench):
    edges = bench.rng.integers(0, NODES, (45, 2))
    parents = np.arange(NODES)
    bench.launch(components, 2, 32, edges, parents)
    # wrong: bench.launch(components, 2, 32, edges, parents[:50].copy()) -> out-of-bounds on parents at: while parents[
    for _ in range(NODES):
        parents = parents[parents]
    expected = np.arange(NODES)
    for _ in range(NODES):
        for a, b in edges:
            expected[[a, b]] = min(expected[a], expected[b])
    return [(parents, expected)]


def floyd_warshall(d, k):
    """One launch for each k: row and column k do not change in it."""
    i, j = cuda.grid(2)
    if i < d.shape[0] and j < d.shape[0]:
        through = d[i, k] + d[k, j]
        if through < d[i, j]:
            d[i, j] = through
            # wrong: d[i, k] = through -> race on d


def run_floyd_warshall(bench):
    d = bench.rng.integers(1, 100, (20, 20))
    np.fill_diagonal(d, 0)
    expected = d.copy()
    for k in range(20):
        bench.launch(floyd_warshall, (3, 3), (8, 8), d, k)
        expected = np.minimum(expected, expected[:, k : k + 1] + expected[k : k + 1])
    return [(d, expected)]


def floyd_warshall_by_minimum(d, k):
    """As before, written without an if: what is written to row and column k is what is there."""
    # warns: same-value-writes
    i, j = cuda.grid(2)
    if i < d.shape[0] and j < d.shape[0]:
        through = d[i, k] + d[k, j]
        d[i, j] = through if through < d[i, j] else d[i, j]
        # wrong: d[j, i] = through if through < d[i, j] else d[i, j] -> race on d


def run_floyd_warshall_by_minimum(bench):
    d = bench.rng.integers(1, 100, (20, 20))
    np.fill_diagonal(d, 0)
    # wrong: np.fill_diagonal(d, -1) -> race on d at: d[i, j] = through if through < d[i, j] else d[i, j]
    expected = d.copy()
    for k in range(20):
        bench.launch(floyd_warshall_by_minimum, (3, 3), (8, 8), d, k)
        expected = np.minimum(expected, expected[:, k : k + 1] + expected[k : k + 1])
    return [(d, expected)]


def relax(offsets, neighbours, weights, d):
    """Bellman and Ford: a distance that is out of date is put right in a later round."""
    # warns: mixed-atomic
    v = cuda.grid(1)
    if v < d.size:
        for e in range(offsets[v], offsets[v + 1]):
            # wrong: for e in range(offsets[v], offsets[v + 2]): -> out-of-bounds on offsets
            cuda.atomic.min(d, neighbours[e], d[v] + weights[e])
            # wrong: d[neighbours[e]] = d[v] + weights[e] -> race on d


def run_relax(bench):
    offsets, neighbours = random_graph(bench.rng)
    weights = bench.rng.integers(1, 20, neighbours.size)
    d = np.full(NODES, FAR)
    d[0] = 0
    expected = d.copy()
    sources = np.repeat(np.arange(NODES), np.diff(offsets))
    for _ in range(NODES):
        np.minimum.at(expected, neighbours, expected[sources] + weights)
    for _ in range(20):
        bench.launch(relax, 2, 32, offsets, neighbours, weights, d)
    return [(d[d < FAR], expected[expected < FAR])]


def triangles(offsets, neighbours, total):
    v = cuda.grid(1)
    if v < offsets.size - 1:
        # wrong: if v < offsets.size: -> out-of-bounds on offsets at: for e in range(
        found = 0
        for e in range(offsets[v], offsets[v + 1]):
            w = neighbours[e]
            if w <= v:
                continue
            for f in range(offsets[w], offsets[w + 1]):
                if neighbours[f] <= w:
                    continue
                for g in range(offsets[v], offsets[v + 1]):
                    found += neighbours[g] == neighbours[f]
        cuda.atomic.add(total, 0, found)
        # wrong: total[0] += found -> race on total


def run_triangles(bench):
    offsets, neighbours = random_graph(bench.rng)
    total = np.zeros(1, np.int64)
    bench.launch(triangles, 2, 32, offsets, neighbours, total)
    a = np.zeros((NODES, NODES), np.int64)
    a[np.repeat(np.arange(NODES), np.diff(offsets)), neighbours] = 1
    return [(total, [np.trace(a @ a @ a) // 6])]


def push_ranks(offsets, neighbours, old, new):
    v = cuda.grid(1)
    if v < old.size:
        degree = offsets[v + 1] - offsets[v]
        for e in range(offsets[v], offsets[v + 1]):
            cuda.atomic.add(new, neighbours[e], 0.85 * old[v] / degree)
            # wrong: new[neighbours[e]] += 0.85 * old[v] / degree -> race on new


def run_push_ranks(bench):
    offsets, neighbours = random_graph(bench.rng)
    old, new = np.full(NODES, 1 / NODES), np.full(NODES, 0.15 / NODES)
    expected = new.copy()
    degrees = np.diff(offsets)
    sources = np.repeat(np.arange(NODES), degrees)
    np.add.at(expected, neighbours, 0.85 * old[sources] / degrees[sources])
    bench.launch(push_ranks, 2, 32, offsets, neighbours, old, new)
    return [(new, expected)]
