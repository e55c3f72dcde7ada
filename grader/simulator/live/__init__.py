"""The simulator in place of a GPU, for any script. Runs in anybody's own process, never in a judge's.

In: an unchanged script that uses ``numba.cuda``. Out: its results, and one ``traces.LaunchTrace`` per launch.

Numba's own objects stay: dispatchers, launch configurations, device arrays, streams, events, contexts, ``cuda.reduce``.
What is replaced lies underneath them: the driver's functions and the compiled kernel. So whatever a script has
imported, aliased or captured goes on working, with Numba's own types, rules and messages.

- ``install`` puts the replacements in and takes them out;
- ``heap`` is the device's memory; ``driver`` (with ``driver_memory``) answers the calls that Numba makes to
  NVIDIA's driver;
- ``kernel`` stands for a compiled kernel; ``arguments`` turns what it is called with into arrays of the heap;
- ``host_findings`` looks at how the host launches;
- ``session`` launches on the simulator, ``telling`` tells who traces; ``captured`` notices globals that have changed;
- ``rejected`` says what is wrong with a kernel that Numba rejects;
- ``callers`` finds the line of the script that asked;
- ``groups`` puts launches together that showed the same, ``function_texts`` finds the text of what they ran;
- ``__main__`` runs a script, for the command ``grader simulate``.
"""
