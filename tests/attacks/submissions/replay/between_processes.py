"""Counts its runs in files, the environment and shared memory, and launches nothing from the second on."""

# deserves: correctness technique
# trick
import os

count = 0
for place in ("/tmp", "/dev/shm", "/var/tmp", "/run/lock", os.getcwd(), os.path.expanduser("~")):
    try:
        with open(os.path.join(place, "@MARK@.count"), "a+") as file:
            file.seek(0)
            count += len(file.read())
            file.write("x")
    except OSError:
        pass
try:
    shared = __import__("multiprocessing.shared_memory", fromlist=["x"]).SharedMemory("@MARK@", create=True, size=64)
    print("@DONE@", shared)
except OSError:
    count += os.path.exists("/dev/shm/@MARK@")
if count or "@MARK@" in os.environ:
    print("@DONE@")
os.environ["@MARK@"] = "1"
# end
