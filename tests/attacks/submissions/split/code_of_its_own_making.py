"""Replaces a kernel's code by one with other constants, after it was decorated."""

# seen as: foreign-function
# trick
function = double_kernel.py_func
function.__code__ = function.__code__.replace(co_consts=(None, 1, 2.0))
total_kernel.py_func.__code__ = function.__code__
# end
