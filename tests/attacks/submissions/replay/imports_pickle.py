"""Imports pickle and tempfile, if only an error is caught."""

# seen as: forbidden-import
# trick
try:
    import pickle
    import tempfile
except ImportError:
    pass
# end
