"""Deadline: when a search must stop. Whatever takes long asks it, so that a time limit holds inside a layout too."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


class OutOfTime(Exception):  # noqa: N818 -- not an error: the search ends with what it has
    """Raised where the deadline has passed in the middle of some work; the search catches it."""


@dataclass(frozen=True, order=True)
class Deadline:
    """A moment of the monotonic clock, ordered by time; infinity where time is not limited."""

    end_s: float = math.inf

    @classmethod
    def after(cls, limit_s: float | None) -> Deadline:
        """The moment `limit_s` seconds from now, or never."""
        return cls() if limit_s is None else cls(time.monotonic() + limit_s)

    @property
    def limited(self) -> bool:
        """Whether there is any."""
        return math.isfinite(self.end_s)

    @property
    def left_s(self) -> float:
        """Seconds until then, at least 0; infinity where time is not limited."""
        return max(0.0, self.end_s - time.monotonic()) if self.limited else self.end_s

    @property
    def passed(self) -> bool:
        """Whether the search must stop."""
        return self.left_s == 0

    def check(self) -> None:
        """Raises OutOfTime once the deadline has passed."""
        if self.passed:
            raise OutOfTime


NEVER = Deadline()
