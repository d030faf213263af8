"""What published runs do that the cost model has no words for, each once; the list shrinks as the model grows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from costmodel.spec import SoftwareStack
from planner.validation.configuration import Configuration
from planner.validation.precisions import Narrow, precision_named
from planner.validation.recomputes import recompute_named, repeats_scores_alone
from planner.validation.unsaid import Unsaid

_OTHER_LAYERS = re.compile(
    r"mamba|nemotron-?h\b|nemotron-?3(\.5)?-(nano|super|ultra|lightning)|jamba|qwen3-next|falcon-h1|granite-?4.*-h|zamba"
    r"|rwkv",
    re.I,
)
"""Models by name whose state-space layers or linear attention no column describes."""


@dataclass(frozen=True)
class Gap:
    """One thing that cannot be said."""

    reason: str
    columns: tuple[str, ...]
    """Where a run says it."""
    holds: Callable[[Configuration, SoftwareStack], bool]

    def found_in(self, run: Configuration) -> Unsaid:
        """The gap as `run` shows it."""
        cells = ", ".join(f"{column} = {getattr(run, column)}" for column in self.columns)
        return Unsaid(self.reason, f"{self.reason} has no price yet ({cells})")


GAPS: tuple[Gap, ...] = (
    Gap(
        "layers that the columns do not describe",
        ("model",),
        lambda run, _stack: _OTHER_LAYERS.search(run.model) is not None,
    ),
    Gap(
        "arithmetic in 8 or 4 bits",
        ("precision",),
        lambda run, _stack: isinstance(precision_named(run.precision), Narrow),
    ),
    Gap(
        "a number format that is not known",
        ("precision",),
        lambda run, _stack: precision_named(run.precision) is None,
    ),
    Gap(
        "a schedule that splits the backward pass",
        ("schedule",),
        lambda run, _stack: re.search(r"zb|zero-?bubble|v-half|v-min|dualpipe", run.schedule or "", re.I) is not None,
    ),
    Gap(
        "recomputation of parts of a layer",
        ("recompute",),
        lambda run, _stack: run.recompute is not None and recompute_named(run.recompute) is None,
    ),
    Gap(
        "recomputation of scores in a stack that keeps them",
        ("recompute",),
        lambda run, stack: stack.score_bytes_kept > 0 and repeats_scores_alone(run.recompute or ""),
    ),
    Gap(
        "ZeRO over a part of the data-parallel ranks",
        ("zero_group", "dp"),
        lambda run, _stack: (run.zero or 0) > 0 and run.zero_group not in (None, "all", str(run.dp)),
    ),
    Gap(
        "activations kept in host memory",
        ("activation_offload_frac",),
        lambda run, _stack: bool(run.activation_offload_frac),
    ),
    Gap(
        "optimizer states kept in host memory",
        ("framework",),
        lambda run, _stack: "offload" in run.framework.lower(),
    ),
)


def first_gap(run: Configuration, stack: SoftwareStack) -> Unsaid | None:
    """The first thing about `run` that cannot be said, or None."""
    return next((gap.found_in(run) for gap in GAPS if gap.holds(run, stack)), None)
