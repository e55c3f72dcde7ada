"""Is a symbolic link to the gradebook, for the report to quote."""
# no twin
# link: kernels.py -> @ROOT@/gradebook.db
