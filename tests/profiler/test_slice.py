"""Which layers stand in the slice of a model that is timed."""

from __future__ import annotations

from small_layers import small_model

from costmodel.spec import LayerRun, ModelSpec
from profiler.layers import slice_indices


def test_a_small_model_is_timed_whole() -> None:
    model = small_model(num_blocks=4)
    embedding, block, head = dict.fromkeys(model.layers)
    assert slice_indices(model, tp=1, bytes_per_number=4) == {embedding: [0], block: [1, 2, 3, 4], head: [5]}


def test_large_blocks_need_few_copies() -> None:
    # A block has 4 x 1024^2 + 3 x 1024 x 4096 + 2 x 1024 = 16.8 M parameters: weights and gradients in four bytes
    # take 134.2 MB, and 128 MiB are 134.2 MB less 16 KiB; one copy would do, but two are the least.
    model = small_model(hidden=1024, ffn_hidden=4096, num_blocks=32)
    block = model.blocks[0]
    assert slice_indices(model, tp=1, bytes_per_number=4)[block] == [1, 2]


def test_shards_and_low_precision_need_more_copies() -> None:
    # A quarter of the block and half of the bytes: 8.4 M x 2 x 2 bytes with tp 2 are 33.6 MB, of which 134.2 MB hold
    # just under 4; with four-byte numbers 67.1 MB, just under 2.
    model = small_model(hidden=1024, ffn_hidden=4096, num_blocks=32)
    block = model.blocks[0]
    assert len(slice_indices(model, tp=2, bytes_per_number=4)[block]) == 2
    assert len(slice_indices(model, tp=2, bytes_per_number=2)[block]) == 4


def test_each_kind_of_block_has_its_copies() -> None:
    small, large = small_model(ffn_hidden=64), small_model(ffn_hidden=128)
    embedding, block, head = small.runs
    other = LayerRun(layer=large.blocks[0], count=2)
    model = ModelSpec(
        name="mixed", architecture="LlamaForCausalLM", runs=(embedding, block, other, LayerRun(layer=block.layer), head)
    )
    indices = slice_indices(model, tp=1, bytes_per_number=4)
    assert indices[block.layer] == [1, 2, 3, 4, 7]
    assert indices[other.layer] == [5, 6]
