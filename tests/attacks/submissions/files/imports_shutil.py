"""Imports shutil and pathlib under other names, in a function."""

# seen as: forbidden-import
# trick
def copy():
    import shutil as numpy
    from pathlib import Path as math

copy()
# end
