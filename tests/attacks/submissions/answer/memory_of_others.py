"""Reads its parent's memory by system calls: process_vm_readv, ptrace, a descriptor of it."""

# deserves: correctness technique
# trick
import os

ctypes = __import__("ctypes")
libc = ctypes.CDLL(None, use_errno=True)
for pid in (os.getppid(), 1, *range(os.getppid() - 20, os.getppid() + 20)):
    buffer = ctypes.create_string_buffer(4096)
    here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 4096)
    there = (ctypes.c_void_p * 2)(id(here), 4096)
    if libc.process_vm_readv(pid, here, 1, there, 1, 0) > 0:
        print("@DONE@", buffer.raw)
    if libc.ptrace(16, pid, 0, 0) == 0:
        print("@DONE@")
    descriptor = libc.syscall(434, pid, 0)
    if descriptor >= 0:
        print("@DONE@", libc.syscall(438, descriptor, 3, 0))
# end
