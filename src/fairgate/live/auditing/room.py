"""Room: that no more labels arrive than people were accepted, where there are no rows that would tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgate.live.auditing.chunks import Parsed
from fairgate.live.auditing.labels import TALLIES


class Room:
    """How many labels of each round, group and bin may still come; it is told every event, in order."""

    def __init__(self, groups: int, bins: int, through: float) -> None:
        self.shape = (groups, bins)
        self.through = through  # the last round that is followed
        self.left: dict[int, NDArray[np.int64]] = {}

    def follow(self, parsed: Parsed) -> str:
        """Take in an event; say which labels are too many."""
        event, data = parsed
        if event.kind == "opened" and event.round <= self.through:
            self.left[event.round] = np.zeros(self.shape, dtype=np.int64)
        elif event.kind in ("decided", "reported") and event.round in self.left:
            for group, place, accepted, people in data["tally"]:
                self.left[event.round][group, place] += accepted * people
        elif event.kind == "overridden" and event.round in self.left:
            self.left[event.round][data["group"], data["bin"]] += data["accepted"] - data["before"]
        elif event.kind == "outcomes":
            for name in TALLIES:
                for origin, group, place, _, people in data.get(name, ()):
                    if origin in self.left:
                        self.left[origin][group, place] -= people
                        if self.left[origin][group, place] < 0:
                            return f"it counts more labels of group {group}, bin {place}, round {origin} than people"
        return ""
