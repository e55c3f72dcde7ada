"""Imports signal and resource, in a class."""

# no twin
# trick
class Clock:
    import signal
    import resource
# end
