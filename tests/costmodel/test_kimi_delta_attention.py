"""Kimi delta attention: parameters, FLOP and state by hand."""

from __future__ import annotations

from costmodel_samples import setting

from costmodel.spec import KimiDeltaAttention
from costmodel.spec.shards import WHOLE, Shards

MIXER = KimiDeltaAttention(hidden=8, num_heads=2, head_dim=4, conv_kernel=2)
"""Heads of 8 numbers together."""


def test_parameters_by_hand() -> None:
    # Split: 8 x (4 x 8 + 2) = 272 for queries, keys, values, output and write strength; 2 x 4 x 8 = 64 out of the
    # latents; 3 x 8 x 2 = 48 convolved; 8 + 2 for the decay: 394. Whole: 2 x 8 x 4 = 64 into the latents, norm 4.
    assert MIXER.num_params() == 394 + 68
    assert MIXER.num_params(Shards(tp=2)) == 197 + 68


def test_flop_by_hand() -> None:
    # 4 tokens: 2 x 4 x 8 x (3 x 8 + 2 + 2 x 4) = 2176 in; twice 2 x 4 x 4 x 8 = 256 out of the latents; convolution
    # 2 x 4 x 24 x 2 = 384; scan 2 x 4 x 8 x 3 x (4 + 4) = 1536; out 2 x 4 x 8 x 8 = 512.
    assert [operation.flop for operation in MIXER.operations(1, 4)] == [2176, 512, 384, 1536, 0, 512]


def test_what_is_kept_by_hand() -> None:
    # A token: 14 x 8 numbers of heads, write strength twice of 2 heads, 2 latents of 4: 124. 65 tokens are two chunks,
    # with a state of 2 x 4 x 4 numbers each.
    stack = setting().stack
    assert MIXER.saved(3, 65, WHOLE, stack).values == 3 * (65 * 124 + 2 * 32)
    assert MIXER.saved(3, 65, Shards(tp=2), stack).values == 3 * (65 * (116 / 2 + 8) + 2 * 32 / 2)


def test_the_state_is_a_matrix_per_head_and_what_the_convolution_looks_back_on() -> None:
    # 2 heads of 4 x 4, and one earlier token of 24 channels, however long the sequence is.
    assert MIXER.state_values(10) == MIXER.state_values(1000) == 32 + 24
