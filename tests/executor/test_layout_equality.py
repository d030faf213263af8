"""Every layout computes what one process of plain transformers computes, and really is the layout it claims to be.

The tiny model has N = 4 blocks, L = 6 layers with embedding and head, and 180,800 parameters:

    block      64*64 (q) + 2 * 32*64 (k, v) + 64*64 (o) + 3 * 64*128 (gate, up, down) + 2 * 64 (norms) = 36,992
    embedding  256*64 = 16,384        head  64 + 256*64 = 16,448        16,384 + 4 * 36,992 + 16,448 = 180,800
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from layouts import Reference, Seen, train_layout
from plan_files import GLOBAL_BATCH, TINY_LLAMA, tiny_plan

from costmodel.spec import Plan, Precision, Recompute, Schedule
from executor.ranks import RankGroup

Ranks = Callable[[int], RankGroup]

NUM_LAYERS = 6
NUM_PARAMS = 180_800
NORM_PARAMS = 9 * 64
BYTES = 4
MAX_ERROR = 1e-5


def run_layout(ranks: Ranks, plan: Plan, precision: Precision = Precision.FP32) -> list[Seen]:
    return ranks(plan.num_ranks).call(train_layout, plan, TINY_LLAMA, precision, 2)


def assert_equals(reference: Reference, seen: list[Seen], max_error: float = MAX_ERROR) -> None:
    losses = [rank.loss for rank in seen if rank.loss is not None]
    assert sum(losses) / len(losses) == pytest.approx(reference.loss, rel=max_error)
    names = {name for rank in seen for name in rank.gradients}
    assert names == set(reference.gradients)
    for rank in seen:
        for name, gradient in rank.gradients.items():
            expected = reference.gradients[name]
            error = (gradient - expected).abs().max() / expected.abs().max()
            assert error < max_error, name


def assert_learns(seen: list[Seen]) -> None:
    for rank in seen:
        if rank.loss is not None:
            assert [rank.loss, *rank.later_losses] == sorted([rank.loss, *rank.later_losses], reverse=True)
            assert len(rank.later_losses) == 2


def axis(seen: Seen, name: str) -> Counter[str]:
    """Collectives over one mesh axis."""
    return Counter({operation: count for (where, operation), count in seen.collectives.items() if where == name})


def test_one_rank_needs_no_collective(ranks: Ranks, reference: Reference) -> None:
    seen = run_layout(ranks, tiny_plan(micro_batch=4))
    assert_equals(reference, seen)
    assert_learns(seen)
    assert seen[0].collectives == Counter()
    assert seen[0].parameter_bytes == BYTES * NUM_PARAMS


def test_tensor_parallel(ranks: Ranks, reference: Reference) -> None:
    seen = run_layout(ranks, tiny_plan(tp=2, micro_batch=4))
    assert_equals(reference, seen)
    assert_learns(seen)
    # 8 sequences in micro-batches of 4: m = 2. All-gathers and reduce-scatters: 4 N for the blocks, forward and
    # backward, and 2 for embedding and head: 18 a micro-batch. All-reduces: 3 a micro-batch for the loss, and one for
    # each of 9 norms a step.
    for rank in seen:
        assert rank.collectives == Counter(
            {("tp", "all_gather"): 36, ("tp", "reduce_scatter"): 36, ("tp", "all_reduce"): 3 * 2 + 9}
        )
        # All is cut in two but the norms.
        assert rank.parameter_bytes == BYTES * ((NUM_PARAMS - NORM_PARAMS) // 2 + NORM_PARAMS)


@pytest.mark.parametrize("schedule", [Schedule.GPIPE, Schedule.ONE_F_ONE_B])
@pytest.mark.parametrize("cut", [(3, 3), (1, 5)])
def test_pipeline_parallel(ranks: Ranks, reference: Reference, schedule: Schedule, cut: tuple[int, int]) -> None:
    seen = run_layout(ranks, tiny_plan(pp=2, micro_batch=2, schedule=schedule, cut=cut))
    assert_equals(reference, seen)
    assert_learns(seen)
    # m = 4 micro-batches: each sends one tensor forward and receives one back, or the other way round. In the first
    # step the stages also agree, by one number each way, that shapes are known.
    for rank in seen:
        assert rank.collectives == Counter({("pp", "send"): 4 + 1, ("pp", "recv"): 4 + 1})
    embedding, block, head = 16_384, 36_992, 16_448
    first = embedding + (cut[0] - 1) * block
    assert [rank.parameter_bytes for rank in seen] == [BYTES * first, BYTES * ((cut[1] - 1) * block + head)]


@pytest.mark.parametrize(
    ("zero", "collectives"),
    # m = 2 micro-batches; each collective once for each of 6 layers.
    [
        (0, {"all_reduce": NUM_LAYERS}),
        (1, {"all_gather": NUM_LAYERS, "reduce_scatter": NUM_LAYERS}),
        (2, {"all_gather": NUM_LAYERS, "reduce_scatter": 2 * NUM_LAYERS}),
        (3, {"all_gather": 2 * 2 * NUM_LAYERS, "reduce_scatter": 2 * NUM_LAYERS}),
    ],
)
def test_data_parallel(ranks: Ranks, reference: Reference, zero: int, collectives: dict[str, int]) -> None:
    seen = run_layout(ranks, tiny_plan(dp=2, zero=zero, micro_batch=2))
    assert_equals(reference, seen)
    assert_learns(seen)
    for rank in seen:
        assert axis(rank, "dp") == Counter(collectives)
        assert {where for where, _ in rank.collectives} == {"dp"}
        assert rank.parameter_bytes == BYTES * NUM_PARAMS // (2 if zero else 1)


def assert_combined(ranks: Ranks, reference: Reference, zero: int, **choices: Any) -> None:
    plan = tiny_plan(tp=2, pp=2, dp=2, zero=zero, micro_batch=2, **choices)
    seen = run_layout(ranks, plan)
    assert_equals(reference, seen)
    assert_learns(seen)
    num_microbatches = plan.num_microbatches(GLOBAL_BATCH)
    for index, rank in enumerate(seen):
        is_last = index >= 4  # ranks 0 to 3 hold stage 0: pp is outermost
        assert axis(rank, "pp") == Counter({"send": num_microbatches + 1, "recv": num_microbatches + 1})
        # 2 blocks and either embedding or head: 4 * 2 + 1 a micro-batch. A block that is computed again gathers
        # twice and reduces once more: its last reduction yields nothing that backward needs.
        is_recomputed = plan.recompute == "full"
        assert axis(rank, "tp")["all_gather"] == (9 + 2 * 2 * is_recomputed) * num_microbatches
        assert axis(rank, "tp")["reduce_scatter"] == (9 + 2 * is_recomputed) * num_microbatches
        reductions = 3 * (num_microbatches if zero >= 2 else 1)
        assert axis(rank, "dp")["all_reduce" if zero == 0 else "reduce_scatter"] == reductions
        norms = (2 * 2 + is_last) * 64
        params = 2 * 36_992 + (16_448 if is_last else 16_384)
        shards = 2 if zero else 1
        assert rank.parameter_bytes == BYTES * ((params - norms) // 2 + norms) // shards


def test_tensor_pipeline_and_data_parallel(ranks: Ranks, reference: Reference) -> None:
    assert_combined(ranks, reference, zero=3)


@pytest.mark.slow
@pytest.mark.parametrize("zero", [0, 1, 2])
def test_tensor_pipeline_and_data_parallel_with_other_zero_stages(
    ranks: Ranks, reference: Reference, zero: int
) -> None:
    assert_combined(ranks, reference, zero)


@pytest.mark.slow
def test_tensor_pipeline_and_data_parallel_with_recompute(ranks: Ranks, reference: Reference) -> None:
    assert_combined(ranks, reference, zero=3, recompute=Recompute.FULL)


def test_recompute_repeats_the_forward_pass_and_changes_nothing(ranks: Ranks, reference: Reference) -> None:
    seen = run_layout(ranks, tiny_plan(dp=2, zero=3, micro_batch=2, recompute=Recompute.FULL))
    assert_equals(reference, seen)
    assert axis(seen[0], "dp") == Counter({"all_gather": 2 * 2 * NUM_LAYERS, "reduce_scatter": 2 * NUM_LAYERS})


@pytest.mark.parametrize("choices", [{}, {"dp": 2}, {"dp": 2, "zero": 3}, {"pp": 2}])
def test_bf16_is_close_and_keeps_fp32_weights(ranks: Ranks, reference: Reference, choices: dict[str, int]) -> None:
    plan = tiny_plan(micro_batch=2, **choices)
    seen = run_layout(ranks, plan, Precision.BF16)
    # bf16 has 8 bits of mantissa: a relative rounding error of 2**-8 = 0.4 %, a few of which add up.
    assert_equals(reference, seen, max_error=0.05)
    assert_learns(seen)
    assert all(gradient.dtype.itemsize == BYTES for rank in seen for gradient in rank.gradients.values())
    total = sum(rank.parameter_bytes for rank in seen)
    assert total == BYTES * NUM_PARAMS * (plan.dp if plan.zero == 0 else 1)
