"""Prints, for each case, what ncu measured and what the simulator counted: the table in docs/simulator.md."""

from __future__ import annotations

from pathlib import Path

import kernel_bench
import ncu
import numpy as np
from truth_cases import CASES, run_on_gpu


def main() -> None:
    """Compare all cases, one row for each counter that is not 0."""
    measured = ncu.profile(Path(__file__).with_name("truth_cases.py"))
    print(len(measured), "launches measured,", len(CASES), "cases")
    for case, found in zip(CASES, measured, strict=False):
        arguments = case.arguments()
        result = kernel_bench.launch(case.kernel, case.grid, case.block, *arguments, shared=case.shared)
        gpu = run_on_gpu(case)
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        same = all((a.view(np.uint8) == g.view(np.uint8)).all() for a, g in zip(arrays, gpu, strict=True))
        unequal = []
        for counter in ncu.METRICS:
            ours = result.counters.get(counter, 0)
            if ours or found[counter]:
                mark = "" if ours == found[counter] else "  <---"
                unequal.append(f"    {counter:30} {found[counter]:12,.0f} {ours:12,}{mark}")
        print(f"{case}  outputs {'equal' if same else 'differ'}")
        print("\n".join(unequal))


if __name__ == "__main__":
    main()
