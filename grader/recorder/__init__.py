"""The recorder: the only code that executes a student's Python, in a child process, on arrays without
contents.

``python -m grader.recorder`` is a warm child (``sandbox.protocol.serve``). A job gets the text of kernels.py
and the shapes of one or more calls (in), and answers with launch plans or with a failure (out).
"""
