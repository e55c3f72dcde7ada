"""Is a hard link to the reference."""

# seen as: link
# hard link: kernels.py -> @ROOT@/solutions/01/kernels.py
