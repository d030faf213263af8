"""Divisibility: what degrees and micro-batch must divide, each rule once, with its name and its sentence.

The cost model refuses by these rules what it cannot price, and the planner shows the same ones as rules of frameworks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from costmodel.spec import Infeasible, ModelSpec, Plan, Workload
from costmodel.spec.operations import SplitRule


def heads(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """tp divides the attention heads, which it splits."""
    return _splits_divide(SplitRule.HEADS, model, plan)


def kv_heads(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """tp divides the key and value heads: heads replicated over tensor ranks have no price."""
    return _splits_divide(SplitRule.KV_HEADS, model, plan)


def ffn(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """tp divides the columns of feed-forward networks, those of experts too."""
    return _splits_divide(SplitRule.FFN, model, plan)


def recurrence(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """tp divides the channels, heads and groups of state-space layers and linear attention."""
    return _splits_divide(SplitRule.RECURRENCE, model, plan)


def seq_len(_model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
    """tp divides the sequence, which sequence parallelism splits (arXiv 2205.05198)."""
    return tensor_parallel("seq_len_divides", (("seq_len", workload.seq_len),), plan)


def vocab(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """tp divides the vocabulary. The cost model pads it, so this binds only where a framework does not."""
    size = model.vocab
    return None if size is None else tensor_parallel("vocab_divides", (("vocab_size", size),), plan)


def batch(_model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
    """micro_batch x dp divides the global batch; the sentence names the one at fault."""
    total = workload.global_batch
    if total % (plan.micro_batch * plan.dp) == 0:
        return None
    if total % plan.dp:
        what = f"dp = {plan.dp} does not divide global_batch = {total}"
        valid = f"valid values of dp up to {plan.num_ranks}: {listed(divisors(total, plan.num_ranks))}"
    else:
        share = total // plan.dp
        what = f"micro_batch = {plan.micro_batch} does not divide global_batch / dp = {total} / {plan.dp} = {share}"
        valid = f"valid values up to {plan.micro_batch}: {listed(divisors(share, plan.micro_batch))}"
    return Infeasible(rule="batch_divides", sentence=f"{what}; {valid}", needed=plan.micro_batch * plan.dp, limit=total)


def _splits_divide(rule: SplitRule, model: ModelSpec, plan: Plan) -> Infeasible | None:
    if plan.tp == 1:
        return None
    return tensor_parallel(rule, [(split.field, split.size) for split in model.splits[rule]], plan)


def tensor_parallel(name: str, sizes: Sequence[tuple[str, int]], plan: Plan) -> Infeasible | None:
    """The refusal of rule `name` where tp does not divide one of `sizes`; the sentence names the smallest such."""
    for field, size in sorted(sizes, key=lambda named: named[1]):
        if size % plan.tp:
            valid = [tp for tp in divisors(size, plan.num_ranks) if all(other % tp == 0 for _, other in sizes)]
            return Infeasible(
                rule=name,
                sentence=f"tp = {plan.tp} does not divide {field} = {size}; "
                f"valid values up to {plan.num_ranks}: {listed(valid)}",
                needed=plan.tp,
                limit=max(valid),
            )
    return None


def divisors(number: int, up_to: int | None = None) -> list[int]:
    """The divisors of `number`, those that are at most `up_to` if it is given, in rising order."""
    small = [value for value in range(1, math.isqrt(number) + 1) if number % value == 0]
    large = [number // value for value in reversed(small) if value * value != number]
    return [value for value in small + large if up_to is None or value <= up_to]


def listed(values: Iterable[object]) -> str:
    """Values in a sentence."""
    return ", ".join(str(value) for value in values)
