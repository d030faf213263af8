"""Divisibility: what degrees and micro-batch must divide, each rule once, with its name and its sentence.

The cost model refuses by these rules what it cannot price, and the planner shows the same ones as rules of frameworks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from costmodel.divisors import divisors, listed
from costmodel.spec import Infeasible, ModelSpec, Plan, Schedule, Workload
from costmodel.spec.operations import SplitRule


def heads(model: ModelSpec, workload: Workload, plan: Plan, *, whole_vocab: bool = False) -> Infeasible | None:
    """tp divides the attention heads, which it splits."""
    return _splits_divide(SplitRule.HEADS, model, workload, plan, whole_vocab)


def kv_heads(model: ModelSpec, workload: Workload, plan: Plan, *, whole_vocab: bool = False) -> Infeasible | None:
    """tp divides the key and value heads: heads replicated over tensor ranks have no price."""
    return _splits_divide(SplitRule.KV_HEADS, model, workload, plan, whole_vocab)


def ffn(model: ModelSpec, workload: Workload, plan: Plan, *, whole_vocab: bool = False) -> Infeasible | None:
    """tp divides the columns of feed-forward networks, those of experts too."""
    return _splits_divide(SplitRule.FFN, model, workload, plan, whole_vocab)


def recurrence(model: ModelSpec, workload: Workload, plan: Plan, *, whole_vocab: bool = False) -> Infeasible | None:
    """tp divides the channels, heads and groups of state-space layers and linear attention."""
    return _splits_divide(SplitRule.RECURRENCE, model, workload, plan, whole_vocab)


def seq_len(model: ModelSpec, workload: Workload, plan: Plan, *, whole_vocab: bool = False) -> Infeasible | None:
    """tp divides the sequence, which sequence parallelism splits (arXiv 2205.05198)."""
    sizes = (("seq_len", workload.seq_len),)
    return _tensor_parallel("seq_len_divides", sizes, _all_sizes(model, workload, whole_vocab), plan)


def vocab(model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
    """tp divides the vocabulary. The cost model pads it, so this binds only where a framework does not."""
    size = model.vocab
    if size is None:
        return None
    return _tensor_parallel("vocab_divides", (("vocab_size", size),), _all_sizes(model, workload, True), plan)


def batch(_model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
    """micro_batch x dp divides the global batch; the sentence names the one at fault."""
    total = workload.global_batch
    if total % (plan.micro_batch * plan.dp) == 0:
        return None
    if total % plan.dp:
        what = f"dp = {plan.dp} does not divide global_batch = {total}"
        degrees = divisors(math.gcd(total, plan.num_ranks))
        fitting = [dp for dp in degrees if total // dp % plan.micro_batch == 0]
        condition = "" if fitting else " with micro_batch = 1"
        valid = f"valid values of dp on {plan.num_ranks} GPUs{condition}: {listed(fitting or degrees)}"
    else:
        share = total // plan.dp
        what = f"micro_batch = {plan.micro_batch} does not divide global_batch / dp = {total} / {plan.dp} = {share}"
        sizes = divisors(share, plan.micro_batch)
        if plan.schedule is Schedule.ONE_F_ONE_B:  # which wants as many micro-batches as stages
            sizes = [size for size in sizes if share // size >= plan.pp]
        valid = f"valid values up to {plan.micro_batch}: {listed(sizes)}"
        if not sizes:
            valid = f"schedule 1f1b takes global_batch of at least pp x dp = {plan.pp * plan.dp}"
    return Infeasible(rule="batch_divides", sentence=f"{what}; {valid}", needed=plan.micro_batch * plan.dp, limit=total)


def _splits_divide(
    rule: SplitRule, model: ModelSpec, workload: Workload, plan: Plan, whole_vocab: bool
) -> Infeasible | None:
    if plan.tp == 1:
        return None
    sizes = [(split.field, split.size) for split in model.splits[rule]]
    return _tensor_parallel(rule, sizes, _all_sizes(model, workload, whole_vocab), plan)


def _all_sizes(model: ModelSpec, workload: Workload, whole_vocab: bool) -> set[int]:
    """Every size that tp must divide, by whichever rule; with `whole_vocab` also the vocabulary."""
    sizes = {split.size for splits in model.splits.values() for split in splits} | {workload.seq_len}
    return sizes | {model.vocab} if whole_vocab and model.vocab is not None else sizes


def _tensor_parallel(name: str, sizes: Sequence[tuple[str, int]], all_sizes: set[int], plan: Plan) -> Infeasible | None:
    """The refusal of rule `name` where tp does not divide one of `sizes`; the sentence names the smallest such, and the
    degrees that pass every rule."""
    for field, size in sorted(sizes, key=lambda named: named[1]):
        if size % plan.tp:
            valid = [tp for tp in divisors(plan.num_ranks) if all(other % tp == 0 for other in all_sizes)]
            return Infeasible(
                rule=name,
                sentence=f"tp = {plan.tp} does not divide {field} = {size}; "
                f"valid values on {plan.num_ranks} GPUs: {listed(valid)}",
                needed=plan.tp,
                limit=max(valid),
            )
    return None
