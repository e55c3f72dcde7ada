"""The simulator: Numba's typed IR, carried out on NumPy arrays whose first axis is lanes. Runs in the runner.

In: a Python function, argument arrays and scalars, a launch configuration. Out: the arrays changed in place,
findings and counters. No GPU, driver or CUDA toolkit takes part. In the order in which a launch passes them:

- ``launch`` checks it as a GPU would and ties the rest together;
- ``frontend`` types the kernel with Numba's own pipeline; ``numba_types`` turns its types into dtypes and casts;
- ``translate`` (statements), ``structs``, ``expressions``, ``loops``, ``attributes``, ``array_methods``, ``calls``,
  ``device_calls`` and ``collective_calls`` (``registry``) turn typed IR into steps of a ``body``;
- ``program`` is what comes of it: basic blocks of steps, ranked by ``order``;
- ``machine`` schedules groups of lanes of a ``wave`` of blocks over it; ``barriers`` is where they wait;
- ``memory`` holds the address spaces, ``access`` reads and writes them, ``ranges`` counts;
- ``operations`` says what operators and functions mean on lanes;
- ``watch`` (with ``shadow``) looks for races, ``first_writes`` for reads of what nobody wrote, ``findings`` collects.
"""
