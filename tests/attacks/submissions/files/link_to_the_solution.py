"""Is a symbolic link to the reference."""

# seen as: link
# link: kernels.py -> @ROOT@/solutions/01/kernels.py
