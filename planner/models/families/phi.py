"""Phi: halves of a block side by side behind one LayerNorm (Phi 1 to 2), and a Llama-like decoder (Phi 3 and 4)."""

from __future__ import annotations

from costmodel.spec import Norm, QkNorm
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.parts import HEAD_DIM, HEAD_SPLIT, UNTIED, attention, biased, block, decoder, mlp
from planner.models.family import Family
from planner.models.keys import Choose, Flag, tokens

GELU = Activation(default="gelu_new")
NORMALISES = Flag("qk_layernorm", default=False)
"""Whether queries and keys are normalised, over hidden_size / num_attention_heads numbers."""


def _norm_fits_heads(config: Config) -> None:
    """The class takes the width of that norm from the split of the model's, whatever head_dim says."""
    head_dim, split = HEAD_DIM.read(config, 0), HEAD_SPLIT.read(config, 0)
    if NORMALISES.read(config, 0) and head_dim != split:
        config.fail(f"head_dim is {head_dim}, but qk_layernorm needs hidden_size / num_attention_heads = {split}")


FAMILIES = (
    Family(
        "PhiForCausalLM",
        "phi",
        decoder(
            block(
                attention(
                    qk_norm=Choose(NORMALISES, {True: QkNorm.HEAD_WITH_BIAS, False: QkNorm.NONE}),
                    qk_norm_kind=Norm.LAYER,
                    output_bias=True,
                    **biased(True),
                ),
                mlp(gated=False, bias=True, activation=GELU),
                norm=Norm.LAYER,
                num_norms=1,
                parallel=True,
            ),
            tied=UNTIED,
            norm=Norm.LAYER,
            bias=True,
        ),
        checks=(Rotation(default=0.5), _norm_fits_heads, GELU),
    ),
    Family(
        "Phi3ForCausalLM",
        "phi3",
        decoder(
            block(attention(window=tokens("sliding_window", default=None), rotates_joint_projection=True), mlp()),
            tied=UNTIED,
        ),
        # Earlier names of the same rotation.
        checks=(Rotation(renamed={"su": "longrope", "yarn": "longrope"}), Activation()),
    ),
)
