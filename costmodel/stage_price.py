"""Adds layer prices up to what one pipeline stage costs: pass times, and what happens once per step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from costmodel.price import LayerPrice
from costmodel.spec import Recompute, Source

RECOMPUTE_TERM = "recompute"


@dataclass(frozen=True)
class TermShare:
    """What one term adds to a stage: per micro-batch, and once per step."""

    microbatch_s: float
    step_s: float
    source: Source


@dataclass(frozen=True)
class StagePrice:
    """Times of one stage on one rank."""

    forward_s: float
    backward_s: float
    before_s: float
    """Before the first forward pass."""
    after_s: float
    """After the last backward pass: reduction of gradients, optimizer."""
    shares: Mapping[str, TermShare]
    """The same times by term."""


def together(stages: Sequence[StagePrice]) -> StagePrice:
    """The stages of one rank as one."""
    if len(stages) == 1:
        return stages[0]
    names = dict.fromkeys(name for stage in stages for name in stage.shares)
    shares = {name: [stage.shares[name] for stage in stages if name in stage.shares] for name in names}
    return StagePrice(
        forward_s=sum(stage.forward_s for stage in stages),
        backward_s=sum(stage.backward_s for stage in stages),
        before_s=sum(stage.before_s for stage in stages),
        after_s=sum(stage.after_s for stage in stages),
        shares={
            name: TermShare(
                sum(share.microbatch_s for share in found),
                sum(share.step_s for share in found),
                Source.worst(*(share.source for share in found)),
            )
            for name, found in shares.items()
        },
    )


def stage_price(prices: Sequence[LayerPrice], recompute: Sequence[Recompute]) -> StagePrice:
    """Sum over the stage's layers; a recomputed layer repeats its forward before its backward."""
    forward_s = backward_s = before_s = after_s = 0.0
    microbatch_s: dict[str, float] = {}
    step_s: dict[str, float] = {}
    sources: dict[str, list[Source]] = {}
    for price, mode in zip(prices, recompute, strict=True):
        forward_s += price.forward_s
        backward_s += price.backward_s
        for term in price.passes:
            microbatch_s[term.term] = microbatch_s.get(term.term, 0.0) + term.forward_s + term.backward_s
            sources.setdefault(term.term, []).append(term.source)
        for step in price.steps:
            before_s += step.before_s
            after_s += step.after_s
            step_s[step.term] = step_s.get(step.term, 0.0) + step.before_s + step.after_s
            sources.setdefault(step.term, []).append(step.source)
        if mode is Recompute.FULL:
            backward_s += price.recompute_s
            microbatch_s[RECOMPUTE_TERM] = microbatch_s.get(RECOMPUTE_TERM, 0.0) + price.recompute_s
            repeated = [term.recompute_source for term in price.passes if term.recompute_s > 0]
            sources.setdefault(RECOMPUTE_TERM, []).extend(repeated)
    shares = {
        name: TermShare(microbatch_s.get(name, 0.0), step_s.get(name, 0.0), Source.worst(*found))
        for name, found in sources.items()
    }
    return StagePrice(forward_s, backward_s, before_s, after_s, shares)
