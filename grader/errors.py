"""Every exception of the package, as one tree. Bottom floor: any process may import it.

In: a sentence. Out: an exception whose class says whose fault it is, and which crosses a pipe by its name.


::

    GraderError
    ├── UsageError          a command got something it cannot work with (unknown assignment, no such folder)
    ├── CourseError         course.yml is wrong: file, line, expected, found
    ├── AuthoringError      an assignment's problem.py or its checks are wrong
    ├── ReleaseError        a release would show a student something hidden, or overwrite work
    └── Fault               ours or the machine's: the check is "not judged", never zero points
        ├── ChildFault      a child process could not be started or broke the protocol before it had a student's work
        ├── DeviceFault     the GPU or its driver failed for a reason that is not the kernel
        └── NotSimulated    a kernel uses what the simulator does not know

A student's mistake is never one of these: it is a record (``records.Failure``).
"""


class GraderError(Exception):
    """Base of all exceptions that this package raises on purpose. ``str()`` is one clear sentence."""


class UsageError(GraderError):
    """A command or a call got something that it cannot work with."""


class CourseError(GraderError):
    """course.yml is wrong. The text names file, line, what was expected and what was found."""


class AuthoringError(GraderError):
    """An assignment's problem.py, its checks or its wrong solutions contradict themselves."""


class ReleaseError(GraderError):
    """A release would show a student something hidden, or overwrite a learner's work."""


class Fault(GraderError):
    """The grader's or the machine's fault. A check that meets one is "not judged"."""


class ChildFault(Fault):
    """A child process could not be started, or broke before it had seen a student's work."""


class DeviceFault(Fault):
    """A GPU or its driver failed for a reason that is not the kernel."""


class NotSimulated(Fault):
    """A kernel uses a feature that the simulator does not know. Names the feature and the line."""
