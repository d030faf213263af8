"""Every kind of memory by hand: weights, gathered_weights, gradients, optimizer_state, saved_activations, logits,
communication_buffers, pipeline_buffers, checkpoint_buffer, and the moments at which they count.

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
    pipeline_buffers,
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
    prices = tuple(price_layer(LayerView(here, on, layer, here.workload.seq_len)) for layer in layers)
    modes = tuple(Recompute.FULL if number in full else Recompute.NONE for number in range(len(layers)))
    return StageView(here, on, index, tuple(layers), prices, modes)


def moments(item) -> tuple[int, int, int, int]:
    """Start and end of the last backward pass, optimizer step, checkpoint."""
    return item.backward_start_bytes, item.backward_end_bytes, item.optimizer_step_bytes, item.checkpoint_bytes


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
    assert moments(weights.item(stage(dp=4, zero=zero, stack_changes=stored))) == (size_bytes,) * 4


@pytest.mark.parametrize(
    ("zero", "stored", "precision", "expected"),
    [
        # Stored as they compute: gathered layer by layer under ZeRO-3 only, two of 592 are more than all 760.
        (0, {}, Precision.BF16, (0, 0, 0, 0)),
        (2, {}, Precision.BF16, (0, 0, 0, 0)),
        (3, {}, Precision.BF16, (1520, 1520, 0, 0)),
        # Stored in fp32 and replicated: a bf16 copy that stays; in fp32 itself it is whole already.
        (0, FP32_STORED, Precision.BF16, (1520, 1520, 1520, 1520)),
        (0, FP32_STORED, Precision.FP32, (0, 0, 0, 0)),
        # Stored in fp32 and sharded: gathered for the passes.
        (1, FP32_STORED, Precision.BF16, (1520, 1520, 0, 0)),
        (2, FP32_STORED, Precision.FP32, (3040, 3040, 0, 0)),
    ],
)
def test_gathered_weights(zero, stored, precision, expected):
    view = stage(dp=4, zero=zero, stack_changes=stored, precision=precision)
    assert moments(gathered_weights.item(view)) == expected


@pytest.mark.parametrize("pp", [1, 2])
def test_gathered_weights_of_many_layers(pp):
    # 4 blocks, 2,368 parameters: two of 592 under ZeRO-3; under ZeRO-1 all, freed but for two by the last backward.
    view = stage((BLOCK,) * 4, dp=4, zero=3, pp=pp, num_microbatches=2, stack_changes=FP32_STORED)
    assert moments(gathered_weights.item(view)) == (2 * 2 * 592, 2 * 2 * 592, 0, 0)
    view = stage((BLOCK,) * 4, dp=4, zero=1, pp=pp, num_microbatches=2, stack_changes=FP32_STORED)
    assert moments(gathered_weights.item(view)) == (2 * 2368, 2 * 2 * 592, 0, 0)


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_one_data_parallel_rank_holds_the_same_at_every_stage(zero):
    for precision in Precision:
        view, plain = (
            stage((BLOCK,) * 4, zero=number, stack_changes=FP32_STORED, precision=precision) for number in (zero, 0)
        )
        assert stage_memory(view) == stage_memory(plain)


@pytest.mark.parametrize(
    ("zero", "num_microbatches", "expected"),
    [
        # One micro-batch: when its backward starts, one layer's 2 x 592; at its end the whole 4 x 760 or a quarter.
        (0, 1, (1184, 3040, 3040, 0)),
        (1, 1, (1184, 760, 760, 0)),
        (2, 1, (1184, 760, 760, 0)),
        # Several: beside it what the earlier ones left, whole under ZeRO-0 and -1, sharded under 2 and 3.
        (0, 2, (1184 + 3040, 3040, 3040, 0)),
        (1, 2, (1184 + 3040, 760, 760, 0)),
        (2, 2, (1184 + 760, 760, 760, 0)),
        (3, 2, (1184 + 760, 760, 760, 0)),
    ],
)
def test_gradients(zero, num_microbatches, expected):
    assert moments(gradients.item(stage(dp=4, zero=zero, num_microbatches=num_microbatches))) == expected


def test_gradients_in_one_buffer_stay():
    view = stage(dp=4, zero=1, stack_changes={"gradients_preallocated": True})
    assert moments(gradients.item(view)) == (3040,) * 4


@pytest.mark.parametrize("zero", [2, 3])
@pytest.mark.parametrize("num_microbatches", [1, 8])
def test_a_buffer_of_shards_stays_and_the_layer_that_runs_comes_on_top(zero, num_microbatches):
    # A quarter of 4 x 760 bytes, and 2 x 592 bytes of the largest layer as its backward pass runs.
    changes = {"gradients_preallocated": True}
    view = stage(dp=4, zero=zero, num_microbatches=num_microbatches, stack_changes=changes)
    assert moments(gradients.item(view)) == (760 + 1184, 760, 760, 760)
    # It is reduced from a copy in four bytes: 4 x 592.
    assert moments(communication_buffers.item(view)) == (2368, 2368, 0, 0)


def test_one_replica_keeps_whole_gradients_whatever_the_stage():
    view = stage(zero=2, stack_changes={"gradients_preallocated": True})
    assert moments(gradients.item(view)) == (3040,) * 4


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
    assert moments(optimizer_state.item(view)) == (bytes_per_param * PARAMS,) * 4


def test_saved_activations_of_one_stage_are_those_of_one_micro_batch():
    assert moments(saved_activations.item(stage(num_microbatches=8))) == (1280, 0, 0, 0)


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
    assert saved_activations.item(view).backward_start_bytes == in_flight * 2 * 960


def test_a_recomputed_block_keeps_its_input_and_comes_back_whole_for_a_moment():
    # In flight 4: 4 x (64 + 960), and the recomputed block's 960 once.
    view = stage((BLOCK, BLOCK), full=(0,), pp=4, num_microbatches=8, schedule=Schedule.ONE_F_ONE_B)
    assert saved_activations.item(view).backward_start_bytes == 4 * (64 + 960) + 960
    # Both: they come back one after the other.
    view = stage((BLOCK, BLOCK), full=(0, 1), pp=4, num_microbatches=8, schedule=Schedule.ONE_F_ONE_B)
    assert saved_activations.item(view).backward_start_bytes == 4 * (64 + 64) + 960


def test_logits():
    # 4 tokens x 10 logits x 4 bytes; over 4 ranks 3 columns each: 12 x 4; in fp32 8 bytes; none without the head.
    assert moments(logits.item(stage())) == (160, 0, 0, 0)
    assert logits.item(stage((HEAD,), tp=4)).backward_start_bytes == 4 * 3 * 4
    assert logits.item(stage(precision=Precision.FP32)).backward_start_bytes == 320
    assert logits.item(stage((EMBEDDING, BLOCK))).backward_start_bytes == 0


@pytest.mark.parametrize(
    ("dp", "zero", "expected"),
    [
        (1, 0, (0, 0, 0, 0)),
        (1, 3, (0, 0, 0, 0)),
        (4, 0, (0, 4 * LARGEST, 0, 0)),  # reduced after the backward pass
        (4, 1, (4 * LARGEST, 4 * LARGEST, 0, 0)),
        (4, 3, (4 * LARGEST, 4 * LARGEST, 0, 0)),
    ],
)
def test_communication_buffers(dp, zero, expected):
    assert moments(communication_buffers.item(stage(dp=dp, zero=zero))) == expected
    in_one_buffer = stage(dp=dp, zero=zero, stack_changes={"gradients_preallocated": True})
    in_place = dp == 1 or zero < 2
    assert moments(communication_buffers.item(in_one_buffer)) == ((0, 0, 0, 0) if in_place else expected)


@pytest.mark.parametrize(
    ("index", "buffers"),
    [
        (0, 8),  # 8 gradients come back
        (1, 8 - 2 + 8),  # 8 hidden states come, 2 of them in flight and counted there; 8 gradients come back
        (2, 8 - 1),  # the last stage has 1 in flight
    ],
)
def test_pipeline_buffers(index, buffers):
    # A hidden state of 4 tokens x 8 numbers x 2 bytes = 64.
    degrees = {"pp": 3, "index": index, "num_microbatches": 8, "schedule": Schedule.ONE_F_ONE_B}
    all_of_them = stage((BLOCK,), stack_changes={"pipeline_buffer_per_microbatch": True}, **degrees)
    assert moments(pipeline_buffers.item(all_of_them)) == (64 * buffers,) * 4
    one_each = stage((BLOCK,), **degrees)
    assert moments(pipeline_buffers.item(one_each)) == (64 * (index < 2),) * 4


def test_checkpoint_buffer():
    assert moments(checkpoint_buffer.item(stage())) == (0, 0, 0, 4 * LARGEST)


def test_a_stage_adds_its_items_up_and_its_peak_is_the_highest_moment():
    # weights 1,520 and optimizer 12 x 760 = 9,120 always, 10,640. Backward starts: gradients 1,184, activations
    # 1,280, logits 160: 13,264. It ends: gradients 3,040: 13,680. First step: the same 13,680. Checkpoint: 2,368:
    # 13,008.
    memory = stage_memory(stage())
    assert len(memory.items) == len(MEMORY_TERMS)
    assert (memory.steady_bytes, memory.first_step_bytes, memory.checkpoint_bytes) == (13680, 13680, 13008)
    # Two micro-batches: the start has 3,040 more, 16,304.
    memory = stage_memory(stage(num_microbatches=2))
    assert (memory.steady_bytes, memory.first_step_bytes, memory.checkpoint_bytes) == (16304, 13680, 13008)
    assert memory.peak_bytes == 16304
