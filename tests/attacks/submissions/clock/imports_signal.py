"""Imports signal and resource, in a class."""

# seen as: forbidden-import
# trick
class Clock:
    import signal
    import resource
# end
