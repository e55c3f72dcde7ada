"""Makes links, soft and hard, from places of its own to hidden files and back."""

# deserves: correctness technique
# trick
import os

for number, target in enumerate(("solutions/01/test_hidden.py", "gradebook.db", "submitted/neighbour/01/kernels.py")):
    for make in (os.symlink, os.link):
        for place in (os.getcwd(), "/tmp", "@ROOT@/submitted/attacker/01", "@ROOT@"):
            try:
                make("@ROOT@/" + target, f"{place}/@MARK@{number}{make.__name__}")
                print("@DONE@")
            except OSError:
                pass
# end
