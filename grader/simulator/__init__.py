"""The simulator: Numba's typed IR, carried out on NumPy arrays whose first axis is lanes. Runs in the runner.

In: a Python function, argument arrays and scalars, a launch configuration. Out: the arrays changed in place,
findings and counters. No GPU, driver or CUDA toolkit takes part.

``frontend`` types a kernel with Numba's own pipeline; ``translate`` turns typed IR into a ``program`` of basic
blocks of small steps; ``order`` ranks the blocks; ``machine`` schedules groups of lanes over a ``wave``; ``memory``
holds the three address spaces; ``operations``, ``calls`` and ``device_calls`` give operators, functions and
``cuda.*`` their meaning; ``launch`` ties them together.
"""
