"""Is a hard link to the reference."""
# no twin
# hard link: kernels.py -> @ROOT@/solutions/01/kernels.py
