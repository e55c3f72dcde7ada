"""seccomp: a process gives up all system calls but those that computing needs. In a job; Linux only.

In: nothing. Out: nothing; any other call fails with EPERM from then on, as one fails for which a right is missing.
What is left opens files to read (which, is Landlock's to say, or the namespace's), computes, waits, and writes into
what is open. In particular there is no socket, no new process or thread, no program started, no signal to another
process, no file made, changed or removed, no memory of another process, no mount, no namespace, no key, no clock set.
Beside a GPU CUDA's own socket, threads and files come to that.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket

_COMPUTING = (
    # memory
    *("brk", "mmap", "munmap", "mprotect", "mremap", "madvise", "msync", "mincore", "membarrier"),
    # waiting, in one thread or for a pipe
    *("futex", "futex_time64", "set_robust_list", "get_robust_list", "rseq", "restart_syscall", "sched_yield"),
    *("nanosleep", "clock_nanosleep", "clock_nanosleep_time64", "pause", "alarm", "setitimer", "getitimer"),
    *("poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6", "pselect6_time64"),
    *("epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2"),
    *("pipe", "pipe2", "eventfd2"),
    # the time
    *("clock_gettime", "clock_gettime64", "clock_getres", "clock_getres_time64", "gettimeofday", "time", "times"),
    *("getrusage", "getrlimit", "ugetrlimit"),
    # who it is
    *("getpid", "gettid", "getppid", "getpgrp", "getpgid", "getsid", "getuid", "geteuid", "getgid", "getegid"),
    *("getresuid", "getresgid", "getgroups", "uname", "sysinfo", "getrandom", "getcpu", "arch_prctl"),
    *("sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min"),
    # its own signals, and its end
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "rt_sigsuspend"),
    *("sigaltstack", "exit", "exit_group", "wait4", "waitid"),
    # files
    *("close", "close_range", "read", "readv", "pread64", "preadv", "preadv2"),
    *("write", "writev", "pwrite64", "lseek", "_llseek", "dup", "dup2", "dup3", "umask"),
    *("stat", "fstat", "lstat", "newfstatat", "fstatat64", "fstat64", "statx", "fstatfs", "statfs", "access"),
    *("faccessat", "faccessat2", "readlink", "readlinkat", "getdents64", "getcwd", "chdir", "fchdir"),
)
# What isatty() and open() ask of a file; others would reach into a terminal or a device.
_TCGETS, _FIONREAD, _FIONBIO, _FIONCLEX, _FIOCLEX = 0x5401, 0x541B, 0x5421, 0x5450, 0x5451
# What may be asked of a descriptor: copies, flags. Not whom it sends signals (F_SETOWN: anybody), nor locks.
_FCNTL = (fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL)

# What CUDA needs as well: to know on which memory node it is, and a file in memory for what kernels print. It does not
# start without a socket on which it would hand its descriptor of unified memory to other processes: it may make one and
# wait at it, but nobody can be accepted there, nothing sent, and no other socket reached.
_OF_CUDA = ("get_mempolicy", "memfd_create", "ftruncate", "bind", "listen")
_SOL_SOCKET, _SO_PASSCRED = 1, 16
_SOCKET_TYPE = 0xF
# What CUDA is answered, so that it goes on: there is no service that shares the GPU (MPS), no socket of an earlier
# process in the way of its own, and no newer call to start a thread by. clone3 has its flags in memory, where no filter
# looks; glibc then takes clone.
_ANSWERS_TO_CUDA = {"connect": errno.ENOENT, "unlink": errno.ENOENT, "clone3": errno.ENOSYS}
# Requests to NVIDIA's drivers, as (mask, value): of the main one (type "F"), and of the one for unified memory, whose
# are numbers without type or size, and two of its own (nvidia-uvm, uvm_ioctl.h and uvm_linux_ioctl.h).
_NVIDIA_REQUESTS = ((0xFF00, 0x4600), (0xFFFFFF00, 0), (0xFFFFFFF0, 0x30000000))
# A thread of its own process: nothing else can be cloned.
_CLONE_THREAD = 0x00010000

# seccomp.h of libseccomp 2.
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EQUALS, _MASKED = 4, 7
_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class _Argument(ctypes.Structure):
    """A condition on one argument of a call: which, how it is compared, with what."""

    _fields_ = (("index", ctypes.c_uint), ("how", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


def is_known() -> bool:
    """Whether libseccomp, which writes the filter, is here."""
    return _library() is not None


def give_up(*, gpu: bool = False) -> None:
    """Leave the calling process with what computing needs. Call it last: it cannot be undone.

    No file is opened but to read it, whatever else sees to that: of emptying one, Landlock knows since Linux 6.2 only.
    ``gpu``: but for that and for what CUDA needs as well. Raises OSError, also where libseccomp is missing.
    """
    library = _library()
    if library is None:
        raise OSError(errno.ENOSYS, "libseccomp is not installed")
    rules = ctypes.c_void_p(library.seccomp_init(_ERRNO | errno.EPERM))
    try:
        for name in _COMPUTING:
            _allow(library, rules, name)
        for request in (_TCGETS, _FIONREAD, _FIONBIO, _FIONCLEX, _FIOCLEX):
            _allow(library, rules, "ioctl", _Argument(1, _EQUALS, request))
        for name in ("fcntl", "fcntl64"):
            for command in _FCNTL:
                _allow(library, rules, name, _Argument(1, _EQUALS, command))
        for name, flags in (("open", 1), ("openat", 2)):
            _allow(library, rules, name, *([] if gpu else [_Argument(flags, _MASKED, _TO_WRITE, 0)]))
        # Signals, and limits, of its own alone: abort() is a tgkill.
        for name in ("kill", "tgkill"):
            _allow(library, rules, name, _Argument(0, _EQUALS, os.getpid()))
        for number in (0, os.getpid()):
            _allow(library, rules, "prlimit64", _Argument(0, _EQUALS, number))
        if gpu:
            _allow_cuda(library, rules)
        _checked(library.seccomp_load(rules))
    finally:
        library.seccomp_release(rules)


def _allow_cuda(library: ctypes.CDLL, rules: ctypes.c_void_p) -> None:
    for name in _OF_CUDA:
        _allow(library, rules, name)
    for mask, value in _NVIDIA_REQUESTS:
        _allow(library, rules, "ioctl", _Argument(1, _MASKED, mask, value))
    _allow(library, rules, "clone", _Argument(0, _MASKED, _CLONE_THREAD, _CLONE_THREAD))
    local = _Argument(0, _EQUALS, socket.AF_UNIX), _Argument(1, _MASKED, _SOCKET_TYPE, socket.SOCK_SEQPACKET)
    _allow(library, rules, "socket", *local)
    _allow(library, rules, "setsockopt", _Argument(1, _EQUALS, _SOL_SOCKET), _Argument(2, _EQUALS, _SO_PASSCRED))
    for name, error in _ANSWERS_TO_CUDA.items():
        _add(library, rules, _ERRNO | error, name)


def _allow(library: ctypes.CDLL, rules: ctypes.c_void_p, name: str, *arguments: _Argument) -> None:
    _add(library, rules, _ALLOW, name, *arguments)


def _add(library: ctypes.CDLL, rules: ctypes.c_void_p, action: int, name: str, *arguments: _Argument) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number >= 0:  # else a call of other architectures, or newer than this libseccomp
        array = (_Argument * len(arguments))(*arguments)
        _checked(library.seccomp_rule_add_array(rules, action, number, len(arguments), array))


def _checked(answer: int) -> None:
    if answer < 0:
        raise OSError(-answer, f"libseccomp: {os.strerror(-answer)}")


def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = (ctypes.c_uint32,)
    library.seccomp_release.restype = None
    library.seccomp_rule_add_array.argtypes = (
        *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint),
        ctypes.POINTER(_Argument),
    )
    return library
