"""Which layers stand in the slice of a model that is timed."""

from __future__ import annotations

from small_layers import small_model
from torch import nn

from costmodel.spec import LayerRun, ModelSpec, Part
from profiler.layers import ModelSlice, slice_indices


def test_a_small_model_is_timed_whole() -> None:
    model = small_model(num_blocks=4)
    embedding, block, head = dict.fromkeys(model.layers)
    assert slice_indices(model, tp=1, bytes_per_number=4) == {embedding: [0], block: [1, 2, 3, 4], head: [5]}


def test_large_blocks_need_few_copies() -> None:
    # A block has 4 x 1024^2 + 3 x 1024 x 4096 + 2 x 1024 = 16.8 M parameters: weights and gradients in four bytes
    # take 134 MB, more than the 67 MB of the working set; two copies are the least.
    model = small_model(hidden=1024, ffn_hidden=4096, num_blocks=32)
    block = model.blocks[0]
    assert slice_indices(model, tp=1, bytes_per_number=4)[block] == [1, 2]


def test_shards_and_low_precision_need_more_copies() -> None:
    # Half of the block in half of the bytes is a quarter of 134.234 MB, 33.6 MB: just under 2 copies in 67.1 MB. A
    # quarter of it in half of the bytes, 16.8 MB: just under 4 copies.
    model = small_model(hidden=1024, ffn_hidden=4096, num_blocks=32)
    block = model.blocks[0]
    assert len(slice_indices(model, tp=2, bytes_per_number=2)[block]) == 2
    assert len(slice_indices(model, tp=4, bytes_per_number=2)[block]) == 4


def test_a_short_slice_has_the_first_copies() -> None:
    # Kinds 0 1 1 1 2 1: a head stays last where two of the four middle ones are kept.
    modules = [nn.Identity() for _ in range(6)]
    short = ModelSlice([0, 1, 1, 1, 2, 1], modules, nn.functional.cross_entropy).shortened([1, 2, 5])
    assert short.modules == [modules[0], modules[1], modules[2], modules[4]]
    assert short.kinds == [0, 1, 1, 2]


def test_each_kind_of_block_has_its_copies() -> None:
    small, large = small_model(ffn_hidden=64), small_model(ffn_hidden=128)
    embedding, block, head = small.runs
    other = LayerRun(part=Part.BLOCKS, layer=large.blocks[0], count=2)
    model = ModelSpec(
        name="mixed",
        architecture="LlamaForCausalLM",
        runs=(embedding, block, other, LayerRun(part=Part.BLOCKS, layer=block.layer), head),
    )
    indices = slice_indices(model, tp=1, bytes_per_number=4)
    assert indices[block.layer] == [1, 2, 3, 4, 7]
    assert indices[other.layer] == [5, 6]
