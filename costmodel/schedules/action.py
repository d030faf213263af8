"""Action: one forward (F) or backward (B) pass of one micro-batch through one stage, with a text form like `2F0`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

_TEXT = re.compile(r"(\d+)([FB])(\d+)")


@dataclass(frozen=True, order=True)
class Action:
    """`str(Action(2, "F", 0)) == "2F0"`: stage 2, forward, micro-batch 0 (the notation of torch's schedules)."""

    stage: int
    kind: str
    microbatch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.microbatch}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `str`; raises ValueError for any other text."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not an action such as 2F0")
        return cls(int(match[1]), match[2], int(match[3]))
