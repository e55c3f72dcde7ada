"""Is a link to what the judge has open."""
# no twin
# link: kernels.py -> /proc/self/environ
