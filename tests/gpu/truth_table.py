"""Prints what ncu measured beside what the simulator counted: the table in docs/simulator.md."""

# mypy: ignore-errors
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import kernel_bench
import ncu
import numpy as np
from truth_cases import CASES, run_on_gpu

COLUMNS = (
    ("global reads", "global_load_requests", "global_load_sectors"),
    ("global writes", "global_store_requests", "global_store_sectors"),
    ("global atomics", "global_atomic_requests", "global_atomic_sectors"),
    ("shared reads", "shared_load_requests", "shared_load_bank_conflicts"),
    ("shared writes", "shared_store_requests", "shared_store_bank_conflicts"),
)


def cell(ours: dict, theirs: dict, first: str, second: str) -> str:
    """ "requests, sectors" where both agree, else "measured (simulated)" for the one that does not."""
    if not any(counts.get(name, 0) for counts in (ours, theirs) for name in (first, second)):
        return ""
    texts = []
    for name in (first, second):
        measured, simulated = theirs[name], ours.get(name, 0)
        texts.append(f"{measured:,.0f}" + ("" if measured == simulated else f" ({simulated:,})"))
    return ", ".join(texts)


def main() -> None:
    """One row for each case."""
    measured = ncu.profile(Path(__file__).with_name("truth_cases.py"))
    print("| kernel | " + " | ".join(name for name, *_ in COLUMNS) + " | result |")
    print("| --- |" + " --- |" * (len(COLUMNS) + 1))
    for case, theirs in zip(CASES, measured, strict=True):
        arguments = case.arguments()
        ours = kernel_bench.launch(case.kernel, case.grid, case.block, *arguments, shared=case.shared).counters
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        equal = all(
            (mine.view(np.uint8) == its.view(np.uint8)).all()
            for mine, its in zip(arrays, run_on_gpu(case), strict=True)
        )
        cells = " | ".join(cell(ours, theirs, first, second) for _, first, second in COLUMNS)
        print(f"| {case} | {cells} | {'equal' if equal else 'close: fused multiply-add'} |")


if __name__ == "__main__":
    main()
