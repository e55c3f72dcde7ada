"""Is a link to what the judge has open."""

# seen as: link
# link: kernels.py -> /proc/self/environ
