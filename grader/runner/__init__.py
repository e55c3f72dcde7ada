"""The runner: a child process that carries out launch plans on a device and never executes a student's Python.

``binding`` makes functions from the text of kernels.py without running it, ``carry_out`` walks a plan over a
device, ``__main__`` is the process.
"""
