"""Every kind of memory by hand: weights, gathered_weights, gradients, optimizer_state, saved_activations, logits,
communication_buffers, checkpoint_buffer.

The stage is embedding, one block and head on one rank unless said otherwise: 80 + 592 + 88 = 760 parameters, the
largest layer 592; for backward 32 + 960 + 288 = 1,280 bytes.
"""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, EMBEDDING, HEAD, mesh, setting, stack, workload

from costmodel.layer_price import price_layer
from costmodel.memory import (
    MEMORY_TERMS,
    StageView,
    checkpoint_buffer,
    communication_buffers,
    gathered_weights,
    gradients,
    logits,
    optimizer_state,
    saved_activations,
    stage_memory,
    weights,
)
from costmodel.setting import LayerView
from costmodel.spec import Precision, Recompute, Schedule

FP32_STORED = {"weights_stored_in_fp32": True}
PARAMS, LARGEST = 760, 592


def stage(
    layers=(EMBEDDING, BLOCK, HEAD), full=(), index=0, precision=Precision.BF16, stack_changes=None, **degrees
) -> StageView:
    """Stage `index` of `layers`, those in `full` recomputed."""
    here = setting(stack=stack(**(stack_changes or {})), workload=workload(precision=precision))
    on = mesh(**degrees)
    prices = tuple(price_layer(LayerView(here, on, layer)) for layer in layers)
    modes = tuple(Recompute.FULL if number in full else Recompute.NONE for number in range(len(layers)))
    return StageView(here, on, index, tuple(layers), prices, modes)


def peaks(item) -> tuple[int, int, int]:
    return item.steady_bytes, item.first_step_bytes, item.checkpoint_bytes


@pytest.mark.parametrize(
    ("zero", "stored", "size_bytes"),
    [
        # Two bytes on every rank until ZeRO-3 shards them.
        (0, {}, 2 * 760),
        (1, {}, 2 * 760),
        (2, {}, 2 * 760),
        (3, {}, 2 * 760 // 4),
        # Four bytes, sharded from ZeRO-1 on.
        (0, FP32_STORED, 4 * 760),
        (1, FP32_STORED, 760),
        (2, FP32_STORED, 760),
        (3, FP32_STORED, 760),
    ],
)
def test_weights(zero, stored, size_bytes):
    assert peaks(weights.item(stage(dp=4, zero=zero, stack_changes=stored))) == (size_bytes,) * 3


@pytest.mark.parametrize(
    ("zero", "stored", "precision", "size_bytes"),
    [
        # Stored as they compute: gathered layer by layer under ZeRO-3 only, two of 592 are more than all 760.
        (0, {}, Precision.BF16, 0),
        (2, {}, Precision.BF16, 0),
        (3, {}, Precision.BF16, 2 * 760),
        # Stored in fp32: the whole stage is cast to bf16; in fp32 itself it is whole already unless sharded.
        (0, FP32_STORED, Precision.BF16, 2 * 760),
        (1, FP32_STORED, Precision.BF16, 2 * 760),
        (2, FP32_STORED, Precision.FP32, 4 * 760),
        (0, FP32_STORED, Precision.FP32, 0),
    ],
)
def test_gathered_weights(zero, stored, precision, size_bytes):
    view = stage(dp=4, zero=zero, stack_changes=stored, precision=precision)
    assert peaks(gathered_weights.item(view)) == (size_bytes, 0, 0)


@pytest.mark.parametrize("pp", [1, 2])
def test_gathered_weights_of_many_layers_are_two_of_them_under_zero_3(pp):
    # 4 blocks: 2 x 592 of 2,368 parameters.
    view = stage((BLOCK,) * 4, dp=4, zero=3, pp=pp, num_microbatches=2, stack_changes=FP32_STORED)
    assert gathered_weights.item(view).steady_bytes == 2 * 2 * 592


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_one_data_parallel_rank_holds_the_same_at_every_stage(zero):
    for precision in Precision:
        view, plain = (
            stage((BLOCK,) * 4, zero=number, stack_changes=FP32_STORED, precision=precision) for number in (zero, 0)
        )
        assert stage_memory(view) == stage_memory(plain)


@pytest.mark.parametrize(
    ("zero", "steady_bytes", "first_step_bytes"),
    [
        (0, 4 * 760, 4 * 760),
        (1, 4 * 760, 760),  # whole while accumulating, the shard when the optimizer steps
        (2, 3040, 760),  # the shard 760 and the largest layer 4 x 592 = 2,368 are more than the whole 3,040
        (3, 3040, 760),
    ],
)
def test_gradients(zero, steady_bytes, first_step_bytes):
    assert peaks(gradients.item(stage(dp=4, zero=zero))) == (steady_bytes, first_step_bytes, 0)


def test_sharded_gradients_of_many_layers():
    # 4 blocks: shard 4 x 2,368 / 4 = 2,368 and one layer whole, 2,368.
    assert gradients.item(stage((BLOCK,) * 4, dp=4, zero=2)).steady_bytes == 2368 + 2368
    # In two bytes: half.
    half = stage((BLOCK,) * 4, dp=4, zero=2, stack_changes={"grad_bytes_per_param": 2})
    assert gradients.item(half).steady_bytes == 2368


@pytest.mark.parametrize(
    ("zero", "stored", "precision", "bytes_per_param"),
    [
        (0, {}, Precision.BF16, 12),
        (1, {}, Precision.BF16, 3),
        (3, {}, Precision.BF16, 3),
        (0, {}, Precision.FP32, 8),
        (0, FP32_STORED, Precision.BF16, 8),
        (2, FP32_STORED, Precision.BF16, 2),
    ],
)
def test_optimizer_state(zero, stored, precision, bytes_per_param):
    view = stage(dp=4, zero=zero, stack_changes=stored, precision=precision)
    assert peaks(optimizer_state.item(view)) == (bytes_per_param * PARAMS,) * 3


def test_saved_activations_of_one_stage_are_those_of_one_micro_batch():
    assert peaks(saved_activations.item(stage(num_microbatches=8))) == (1280, 0, 0)


@pytest.mark.parametrize(
    ("schedule", "index", "in_flight"),
    [
        (Schedule.GPIPE, 0, 8),
        (Schedule.GPIPE, 3, 8),
        (Schedule.ONE_F_ONE_B, 0, 4),
        (Schedule.ONE_F_ONE_B, 1, 3),
        (Schedule.ONE_F_ONE_B, 3, 1),
    ],
)
def test_saved_activations_of_all_micro_batches_in_flight(schedule, index, in_flight):
    view = stage((BLOCK, BLOCK), pp=4, index=index, num_microbatches=8, schedule=schedule)
    assert saved_activations.item(view).steady_bytes == in_flight * 2 * 960


def test_a_recomputed_block_keeps_its_input_and_comes_back_whole_for_a_moment():
    # In flight 4: 4 x (64 + 960), and the recomputed block's 960 once.
    view = stage((BLOCK, BLOCK), full=(0,), pp=4, num_microbatches=8, schedule=Schedule.ONE_F_ONE_B)
    assert saved_activations.item(view).steady_bytes == 4 * (64 + 960) + 960
    # Both: they come back one after the other.
    view = stage((BLOCK, BLOCK), full=(0, 1), pp=4, num_microbatches=8, schedule=Schedule.ONE_F_ONE_B)
    assert saved_activations.item(view).steady_bytes == 4 * (64 + 64) + 960


def test_logits():
    # 4 tokens x 10 logits x 4 bytes; over 4 ranks 3 columns each: 12 x 4; in fp32 8 bytes; none without the head.
    assert peaks(logits.item(stage())) == (160, 0, 0)
    assert logits.item(stage((HEAD,), tp=4)).steady_bytes == 4 * 3 * 4
    assert logits.item(stage(precision=Precision.FP32)).steady_bytes == 320
    assert logits.item(stage((EMBEDDING, BLOCK))).steady_bytes == 0


@pytest.mark.parametrize(
    ("dp", "zero", "size_bytes"),
    [(1, 0, 0), (1, 3, 0), (4, 0, 4 * LARGEST), (4, 1, 6 * LARGEST), (4, 3, 6 * LARGEST)],
)
def test_communication_buffers(dp, zero, size_bytes):
    # One layer's gradients in four bytes; from ZeRO-1 on its gathered weights in two.
    assert peaks(communication_buffers.item(stage(dp=dp, zero=zero))) == (size_bytes, 0, 0)


def test_checkpoint_buffer():
    assert peaks(checkpoint_buffer.item(stage())) == (0, 0, 4 * LARGEST)


def test_a_stage_adds_its_items_up_and_its_peak_is_the_highest_moment():
    # Steady: weights 1,520, gradients 3,040, optimizer 12 x 760 = 9,120, activations 1,280, logits 160: 15,120.
    # First step: 1,520 + 3,040 + 9,120 = 13,680. Checkpoint: 1,520 + 9,120 + 2,368 = 13,008.
    memory = stage_memory(stage())
    assert len(memory.items) == len(MEMORY_TERMS)
    assert (memory.steady_bytes, memory.first_step_bytes, memory.checkpoint_bytes) == (15120, 13680, 13008)
    assert memory.peak_bytes == 15120
