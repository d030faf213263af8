"""OLMo 1 to 3: norms without parameters at first, then norms behind each half and over queries and keys."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Norm, QkNorm
from planner.models.config import Config
from planner.models.families.checks import LAYER_TYPES, Activation, Rotation
from planner.models.families.parts import LAYERS, UNTIED, attention, biased, block, decoder, mlp
from planner.models.family import Family
from planner.models.keys import Choose, Computed, Flag, PerLayer, tokens

BIAS = Flag("attention_bias", default=False)
NORM = Norm.RMS_GAIN_IN_FP32
"""Of OLMo 2 and 3."""


def _layer_type(_config: Config, layer: int) -> str:
    """Every fourth block sees the whole sequence."""
    return "sliding_attention" if (layer + 1) % 4 else "full_attention"


def _heads(**changes: Any) -> Any:
    return attention(output_bias=BIAS, **biased(BIAS), **changes)


CHECKS = (Rotation(), Activation())

FAMILIES = (
    Family(
        "OlmoForCausalLM",
        "olmo",
        decoder(block(_heads(), mlp(), norm=Norm.FIXED_IN_FP32), tied=UNTIED, norm=Norm.FIXED_IN_FP32),
        checks=CHECKS,
    ),
    Family(
        "Olmo2ForCausalLM",
        "olmo2",
        decoder(
            block(_heads(qk_norm=QkNorm.WIDTH, qk_norm_kind=NORM), mlp(), norm=NORM, norms_output=True),
            tied=UNTIED,
            norm=NORM,
        ),
        checks=CHECKS,
    ),
    Family(
        "Olmo3ForCausalLM",
        "olmo3",
        decoder(
            block(
                _heads(
                    qk_norm=QkNorm.WIDTH,
                    qk_norm_kind=NORM,
                    window=Choose(
                        PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(_layer_type)),
                        {
                            "full_attention": None,
                            "sliding_attention": tokens("sliding_window", default=4096, null=None),
                        },
                    ),
                ),
                mlp(),
                norm=NORM,
                norms_output=True,
            ),
            tied=UNTIED,
            norm=NORM,
        ),
        checks=CHECKS,
    ),
)
