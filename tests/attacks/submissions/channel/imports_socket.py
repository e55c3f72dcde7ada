"""Imports socket, to answer by another way."""

# no twin
# trick
import socket
# end
