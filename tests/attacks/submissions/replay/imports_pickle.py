"""Imports pickle and tempfile, if only an error is caught."""

# no twin
# trick
try:
    import pickle
    import tempfile
except ImportError:
    pass
# end
