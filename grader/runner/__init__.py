"""The runner: a child process that carries out launch plans on a device and never executes a student's Python.

In: a plan, the text of kernels.py, inputs. Out: an outcome.

``binding`` makes functions from the text of kernels.py without running it, ``carry_out`` walks a plan over a
device, ``__main__`` is the process.
"""
