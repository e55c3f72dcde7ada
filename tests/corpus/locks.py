"""Locks, tickets, tables with atomics: what several threads may change, one at a time."""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, int64


def lock_of_a_block(mutex, total, x):
    """One thread of each block takes the lock; the fence makes what it wrote seen before the lock is free."""
    s = cuda.shared.array(32, int64)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    # wrong: pass -> race on s at: mine += s[k]
    if t == 0:
        mine = 0
        for k in range(32):
            mine += s[k]
        while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
            # wrong: while mutex[0] != 0: -> race on total at: total[0] += mine
            pass
        total[0] += mine
        cuda.threadfence()
        # wrong: pass -> race on total at: total[0] += mine
        # wrong: cuda.threadfence_block() -> race on total at: total[0] += mine
        cuda.atomic.exch(mutex, 0, 0)
        # wrong: pass -> endless-wait at: while
        # wrong: mutex[0] = 0 -> race on mutex


def run_lock_of_a_block(bench):
    x = bench.rng.integers(0, 100, 320)
    total = np.zeros(1, np.int64)
    bench.launch(lock_of_a_block, 10, 32, np.zeros(1, np.int32), total, x)
    return [(total, [x.sum()])]


def lock_in_a_warp(mutex, total, x):
    """Lanes of one warp fight for a lock: who has it finishes within the turn of the loop."""
    i = cuda.grid(1)
    done = False
    while not done:
        if cuda.atomic.cas(mutex, 0, 0, 1) == 0:
            total[0] += x[i]
            cuda.threadfence()
            # wrong: pass -> race on total at: total[0] += x[i]
            cuda.atomic.exch(mutex, 0, 0)
            done = True


def run_lock_in_a_warp(bench):
    x = bench.rng.integers(0, 100, 64)
    total = np.zeros(1, np.int64)
    bench.launch(lock_in_a_warp, 2, 32, np.zeros(1, np.int32), total, x)
    return [(total, [x.sum()])]


def ticket_lock(next_ticket, serving, total, x):
    """First come, first served."""
    if cuda.threadIdx.x == 0:
        mine = cuda.atomic.add(next_ticket, 0, 1)
        # wrong: mine = next_ticket[0] -> race on total at: total[0] = 2 * total[0] % 1000 + x[cuda.blockIdx.x]
        while cuda.atomic.add(serving, 0, 0) != mine:
            # wrong: while False: -> race on total at: total[0] = 2 * total[0] % 1000 + x[cuda.blockIdx.x]
            pass
        total[0] = 2 * total[0] % 1000 + x[cuda.blockIdx.x]
        cuda.threadfence()
        # wrong: pass -> race on total at: total[0] = 2 * total[0] % 1000 + x[cuda.blockIdx.x]
        cuda.atomic.add(serving, 0, 1)
        # wrong: serving[0] += 1 -> race on serving


def run_ticket_lock(bench):
    x, total = np.full(12, 5), np.zeros(1, np.int64)
    bench.launch(ticket_lock, 12, 32, np.zeros(1, np.int64), np.zeros(1, np.int64), total, x)
    expected = 0
    for value in x:
        expected = 2 * expected % 1000 + value
    return [(total, [expected])]


def lock_by_bucket(locks, heads, links, keys):
    """A linked list to a bucket, each with a lock of its own."""
    i = cuda.grid(1)
    if i < keys.size:
        bucket = keys[i] % heads.size
        # wrong: bucket = keys[i] % (heads.size + 1) -> out-of-bounds on heads at: links[i] = heads[bucket]
        waiting = True
        while waiting:
            if cuda.atomic.cas(locks, bucket, 0, 1) == 0:
                # wrong: if cuda.atomic.cas(locks, i % heads.size, 0, 1) == 0: -> race on heads at: heads[bucket] = i
                links[i] = heads[bucket]
                heads[bucket] = i
                cuda.threadfence()
                # wrong: pass -> race on heads at: links[i] = heads[bucket]
                cuda.atomic.exch(locks, bucket, 0)
                waiting = False


def run_lock_by_bucket(bench):
    keys = bench.rng.integers(0, 100, 50)
    heads, links = np.full(8, -1), bench.device_array(50, np.int64)
    bench.launch(lock_by_bucket, 2, 32, np.zeros(9, np.int32), heads, links, keys)
    chains = []
    for bucket in range(8):
        at, chain = heads[bucket], []
        while at >= 0:
            chain.append(int(at))
            at = links[at]
        chains.append(sorted(chain) == np.flatnonzero(keys % 8 == bucket).tolist())
    return [(np.array(chains), np.ones(8, bool))]


def hash_insert(table, counts, keys):
    """Open addressing: compare and swap finds the key's slot, or takes an empty one."""
    i = cuda.grid(1)
    if i < keys.size:
        slot = keys[i] * 7 % table.size
        # wrong: slot = keys[i] * 7 % (table.size + 1) -> out-of-bounds on table at: found = cuda.atomic.cas(table
        while True:
            found = cuda.atomic.cas(table, slot, -1, keys[i])
            # wrong: found, table[slot] = table[slot], keys[i] -> race on table
            if found in (-1, keys[i]):
                break
            slot = (slot + 1) % table.size
        cuda.atomic.add(counts, slot, 1)
        # wrong: counts[slot] += 1 -> race on counts


def run_hash_insert(bench):
    keys = bench.rng.integers(0, 20, 100)
    table, counts = np.full(23, -1), np.zeros(23, np.int64)
    bench.launch(hash_insert, 4, 32, table, counts, keys)
    found = np.zeros(20, np.int64)
    found[table[table >= 0]] = counts[table >= 0]
    return [(found, np.bincount(keys, minlength=20))]


def product(x, out):
    """An atomic that CUDA has not: try again until nobody came in between."""
    i = cuda.grid(1)
    if i < x.size:
        expected = 1
        while True:
            before = cuda.atomic.cas(out, 0, expected, expected * x[i] % 10007)
            # wrong: before, out[0] = out[0], out[0] * x[i] % 10007 -> race on out
            if before == expected:
                break
            expected = before


def run_product(bench):
    x, out = bench.rng.integers(1, 100, 40), np.ones(1, np.int64)
    bench.launch(product, 2, 32, x, out)
    expected = 1
    for value in x:
        expected = expected * int(value) % 10007
    return [(out, [expected])]


def allocate(sizes, head, starts):
    """A bump allocator: each thread reserves as much as it needs."""
    i = cuda.grid(1)
    if i < sizes.size:
        starts[i] = cuda.atomic.add(head, 0, sizes[i])
        # wrong: starts[i], head[0] = head[0], head[0] + sizes[i] -> race on head


def run_allocate(bench):
    sizes = bench.rng.integers(1, 10, 80)
    head, starts = np.zeros(1, np.int64), bench.device_array(80, np.int64)
    bench.launch(allocate, 3, 32, sizes, head, starts)
    order = np.argsort(starts)
    return [(starts[order], sizes[order].cumsum() - sizes[order]), (head, [sizes.sum()])]


def work_queue(tasks, next_task, out):
    """Persistent blocks draw tasks until none is left."""
    mine = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    while True:
        if t == 0:
            mine[0] = cuda.atomic.add(next_task, 0, 1)
            # wrong: mine[0], next_task[0] = next_task[0], next_task[0] + 1 -> race on next_task
        cuda.syncthreads()
        # wrong: pass -> race on mine at: task = mine[0]
        task = mine[0]
        cuda.syncthreads()
        # wrong: pass -> race on mine at: mine[0] = cuda.atomic.add(next_task, 0, 1)
        if task >= tasks.size:
            # wrong: if task > tasks.size: -> out-of-bounds on tasks at: out[task, t] = tasks[task] * t
            break
        out[task, t] = tasks[task] * t
        # wrong: out[0, t] = tasks[task] * t -> race on out


def run_work_queue(bench):
    tasks = bench.rng.integers(0, 100, 17)
    out = bench.device_array((17, 64), np.int64)
    bench.launch(work_queue, 4, 64, tasks, np.zeros(1, np.int32), out)
    return [(out, tasks[:, None] * np.arange(64))]
