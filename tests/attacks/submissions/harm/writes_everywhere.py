"""Leaves files in the course, in /tmp, in /dev/shm and in the home folder, and changes those that are there."""

# deserves: correctness technique
# trick
import os

for place in ("@ROOT@", "/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~"), os.getcwd(), "/run/lock"):
    try:
        open(os.path.join(place, "@MARK@"), "w").write("x")
    except OSError:
        pass
for name in ("gradebook.db", "results/01.json", "course.yml", "solutions/01/test_hidden.py"):
    try:
        open("@ROOT@/" + name, "a").write("changed")
    except OSError:
        pass
    try:
        os.remove("@ROOT@/" + name)
    except OSError:
        pass
# end
