"""A launch too large to simulate whole: some of its blocks, that stand for all. Runs in the runner.

In: how many blocks may run. Out: which, as stretches of neighbours; which stretches run together; counters scaled to
all blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.counters import LARGEST

# So many that a part of the grid that has nothing to do is in the sample about as often as in the grid; neighbours, as
# far as that allows, since what they do alike is simulated at once.
STRETCHES = 8
Stretch = tuple[int, int]  # the first of some blocks that follow each other, and how many


@dataclass(frozen=True)
class BlockSample:
    """At most ``blocks`` of each launch, in stretches at random places: no block can tell that it will be looked at.

    Each block of a launch is as likely to run as any other.
    """

    blocks: int
    seed: int

    def stretches(self, blocks: int, together: int) -> list[Stretch]:
        """Which of a launch's ``blocks`` run; all, at most so many ``together``, where the sample may be as large."""
        if blocks <= self.blocks:
            return all_stretches(blocks, together)
        parts = min(STRETCHES, self.blocks, blocks // self.blocks)
        count, part = min(self.blocks // parts, together), blocks // parts
        rng = np.random.default_rng([self.seed, blocks])
        # The launch is a ring, cut at a random place into parts with a stretch in each: so a block's chance does not
        # depend on where it lies. A stretch that goes over the end has two pieces.
        cut = int(rng.integers(blocks))
        places = rng.integers(0, part - count, parts, endpoint=True)
        firsts = [(cut + number * part + int(place)) % blocks for number, place in enumerate(places)]
        pieces = [(first, min(count, blocks - first)) for first in firsts]
        over = [(0, first + count - blocks) for first in firsts if first + count > blocks]
        return sorted(over + pieces)


def all_stretches(blocks: int, together: int) -> list[Stretch]:
    """All blocks, at most so many together."""
    return [(first, min(together, blocks - first)) for first in range(0, blocks, together)]


def waves_of(stretches: Sequence[Stretch], together: int) -> list[list[Stretch]]:
    """Stretches that are simulated at the same time: in their order, as many as have at most ``together`` blocks."""
    waves: list[list[Stretch]] = []
    left = 0
    for first, count in stretches:
        if count > left:
            waves.append([])
            left = together
        waves[-1].append((first, count))
        left -= count
    return waves


def scaled(counters: Mapping[str, int], factor: float) -> dict[str, int]:
    """Counters of some blocks as those of ``factor`` times as many: sums grow, what is the largest stays."""
    return {name: number if name in LARGEST else round(number * factor) for name, number in counters.items()}
