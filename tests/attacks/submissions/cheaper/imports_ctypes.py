"""Imports ctypes where it says that it is only for type checkers, and means otherwise."""

# seen as: forbidden-import
# trick
TYPE_CHECKING = True
if TYPE_CHECKING and True:
    from ctypes import CDLL
# end
