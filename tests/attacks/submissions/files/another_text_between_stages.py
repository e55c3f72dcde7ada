"""Replaces its own kernels.py, and a neighbour's, once it has been read."""

# deserves: correctness technique
# trick
import os

for owner in ("attacker", "neighbour"):
    path = f"@ROOT@/submitted/{owner}/01/kernels.py"
    try:
        with open(path + ".new", "w") as new:
            new.write("def double(x, out): pass")
        os.replace(path + ".new", path)
        print("@DONE@")
    except OSError:
        pass
    try:
        os.truncate(path, 0)
        print("@DONE@")
    except OSError:
        pass
    try:
        os.chmod(path, 0)
        print("@DONE@")
    except OSError:
        pass
# end
