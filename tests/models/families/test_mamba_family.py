"""State-space models: counts by hand, and sizes that must agree."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import block_params, mixer_kinds, published, reader

from costmodel.errors import BadInputError

SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 10, "state_size": 4}
mamba = reader("MambaForCausalLM", SIZES)
falcon = reader("FalconMambaForCausalLM", SIZES)
mamba2 = reader("Mamba2ForCausalLM", SIZES, num_heads=4, head_dim=8, n_groups=2)


def test_mamba_by_hand() -> None:
    model = mamba()
    # 32 channels: in 16 x 64, convolution 32 x 4 + 32, projection to a rank of 1 and twice 4: 32 x 9, time step
    # 1 x 32 + 32, A 32 x 4, D 32, out 32 x 16; a norm of 16.
    assert block_params(model) == [1024 + 160 + 288 + 64 + 128 + 32 + 512 + 16] * 2
    assert model.params_by_part["head"] == 16
    assert model.max_seq_len is None
    # Biases of 64 and 16; a convolution without its 32.
    assert block_params(mamba(use_bias=True, use_conv_bias=False)) == [2224 + 80 - 32] * 2


def test_the_rank_of_the_time_step_is_a_sixteenth_unless_given() -> None:
    assert mamba(time_step_rank="auto").runs == mamba().runs
    # Two more numbers per channel in, and two out.
    assert block_params(mamba(time_step_rank=3)) == [2224 + 2 * 32 + 2 * 32] * 2
    with pytest.raises(BadInputError, match="time_step_rank is 'large'"):
        mamba(time_step_rank="large")


def test_the_channels_of_mamba_may_be_given() -> None:
    assert mamba(intermediate_size=32).blocks == mamba(expand=2).blocks
    assert mamba(expand=3).blocks == mamba(intermediate_size=48).blocks


def test_norms_within_falcon_mamba_learn_nothing() -> None:
    assert falcon().runs == mamba().runs


def test_mamba2_by_hand() -> None:
    model = mamba2()
    # 4 heads of 8; in: gate 32, input 32, B and C 2 x 2 x 4, time step 4: 16 x 84; convolution 48 x 4 + 48; A, D and
    # the time step's bias 12, norm 32, out 32 x 16; a norm of 16.
    assert block_params(model) == [1344 + 240 + 12 + 32 + 512 + 16] * 2
    assert model.params_by_part["head"] == 160 + 16
    assert mixer_kinds(model) == ["mamba2", "mamba2"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_heads": 8}, "num_heads = 8 heads of 8 are 64 wide, but must be 32"),
        ({"n_groups": 3}, "num_heads 4 is not a multiple of n_groups 3"),
        ({"num_hidden_layers": ...}, "num_hidden_layers is missing"),
        ({"state_size": 0}, "state_size is 0"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        mamba2(**changes)


def test_published_sizes() -> None:
    assert published("mamba_2_8b").params_total == 2_768_345_600
    assert published("falcon_mamba_7b").params_total == 7_272_665_088
    assert published("mamba_codestral_7b").params_total == 7_285_403_648
