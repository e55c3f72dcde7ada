"""Is a symbolic link to the gradebook, for the report to quote."""

# seen as: link
# link: kernels.py -> @ROOT@/gradebook.db
