"""Is a symbolic link to the reference."""
# no twin
# link: kernels.py -> @ROOT@/solutions/01/kernels.py
