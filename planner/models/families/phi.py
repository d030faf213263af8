"""Phi: halves of a block side by side behind one LayerNorm (Phi 1 to 2), and a Llama-like decoder (Phi 3 and 4)."""

from __future__ import annotations

from costmodel.spec import Norm, QkNorm
from planner.models.families.checks import Activation, Rotation
from planner.models.families.parts import UNTIED, attention, biased, block, decoder, mlp
from planner.models.family import Family
from planner.models.keys import Choose, Flag, tokens

FAMILIES = (
    Family(
        "PhiForCausalLM",
        "phi",
        decoder(
            block(
                attention(
                    qk_norm=Choose(
                        Flag("qk_layernorm", default=False), {True: QkNorm.HEAD_WITH_BIAS, False: QkNorm.NONE}
                    ),
                    output_bias=True,
                    **biased(True),
                ),
                mlp(gated=False, bias=True),
                norm=Norm.LAYER,
                num_norms=1,
                parallel=True,
            ),
            tied=UNTIED,
            norm=Norm.LAYER,
            bias=True,
        ),
        checks=(Rotation(default=0.5), Activation(default="gelu_new")),
    ),
    Family(
        "Phi3ForCausalLM",
        "phi3",
        decoder(block(attention(window=tokens("sliding_window", default=None)), mlp()), tied=UNTIED),
        # Earlier names of the same rotation.
        checks=(Rotation(renamed={"su": "longrope", "yarn": "longrope"}), Activation()),
    ),
)
