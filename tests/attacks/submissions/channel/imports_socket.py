"""Imports socket, to answer by another way."""

# seen as: forbidden-import
# trick
import socket
# end
