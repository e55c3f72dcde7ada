"""The counters of a simulated launch: their names and what they count, in words. Any process.

In: nothing. Out: tables from a counter's name to its words, and the mapping in which a launch's counters are.

Sums over all threads of a launch. A request is one access instruction of one warp, a sector 32 bytes.
"""

from __future__ import annotations

from typing import Final

from grader.spelling import nearest

# Words for one of them in a sentence: "the result is right, but there are too many …".
COUNTERS: Final = {
    "threads": "threads",
    "blocks": "blocks",
    "working_threads": "threads that access global memory",
    "working_blocks": "blocks with threads that access global memory",
    "global_loads": "reads from global memory",
    "global_load_requests": "read requests to global memory by warps",
    "global_load_sectors": "sectors of 32 bytes read from global memory",
    "global_load_bytes": "bytes that threads read from global memory",
    "global_stores": "writes to global memory",
    "global_store_requests": "write requests to global memory by warps",
    "global_store_sectors": "sectors of 32 bytes written to global memory",
    "global_store_bytes": "bytes that threads write to global memory",
    "global_atomics": "atomic operations on global memory",
    "global_atomic_requests": "requests of atomic operations on global memory by warps",
    "global_atomic_sectors": "sectors of 32 bytes that atomic operations touch",
    "global_atomic_bytes": "bytes that atomic operations change in global memory",
    "shared_loads": "reads from shared memory",
    "shared_load_requests": "read requests to shared memory by warps",
    "shared_load_bank_conflicts": "bank conflicts of reads from shared memory",
    "shared_stores": "writes to shared memory",
    "shared_store_requests": "write requests to shared memory by warps",
    "shared_store_bank_conflicts": "bank conflicts of writes to shared memory",
    "shared_atomics": "atomic operations on shared memory",
    "shared_atomic_requests": "requests of atomic operations on shared memory by warps",
    "shared_atomic_bank_conflicts": "bank conflicts of atomic operations on shared memory",
    "local_loads": "reads from local arrays",
    "local_stores": "writes to local arrays",
    "local_atomics": "atomic operations on local arrays",
    "const_loads": "reads from constant memory",
    "barriers": "barriers passed by threads",
    "branches": "branches of warps",
    "divergent_branches": "branches at which threads of a warp part",
    "thread_steps": "steps of threads",
    "warp_steps": "steps of warps",
    "flops_float16": "operations on float16",
    "flops_float32": "operations on float32",
    "flops_float64": "operations on float64",
}
# Of several launches not the sum but the largest counts.
LARGEST: Final = {
    "shared_bytes": "bytes of shared memory per block",
    "local_bytes": "bytes of local arrays per thread",
    "busiest_thread": "accesses of global memory by one thread",
    "busiest_thread_shared": "accesses of shared memory by one thread",
    "global_atomics_on_one_address": "atomic operations on the same address of global memory",
    "shared_atomics_on_one_address": "atomic operations on the same address of shared memory",
}


class Counted(dict[str, int]):
    """Counters by name; of one that there is, 0 where nothing was counted. Raises KeyError for any other name.

    ``shared_bank_conflicts`` are those of all kinds of access, as a check of technique has them.
    """

    def __missing__(self, name: str) -> int:
        if name in COUNTERS or name in LARGEST:
            return 0
        if name == "shared_bank_conflicts":
            return sum(self[f"shared_{kind}_bank_conflicts"] for kind in ("load", "store", "atomic"))
        near = nearest(name, (*COUNTERS, *LARGEST, *self))
        raise KeyError(f"there is no counter {name}" + (f"; did you mean {near}?" if near else ""))
