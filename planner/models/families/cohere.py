"""Command R and Aya: attention and feed-forward network side by side behind one LayerNorm without bias."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Norm, QkNorm
from planner.models.config import Config
from planner.models.families.checks import LAYER_TYPES, Activation, Rotation
from planner.models.families.parts import LAYERS, TIED, attention, biased, block, decoder, mlp
from planner.models.family import Family, RunSource
from planner.models.keys import Choose, Computed, Flag, PerLayer, Size, tokens

BIAS = Flag("attention_bias", default=False)
WINDOW = tokens("sliding_window", default=4096, null=None)
NORM = Norm.LAYER_WRITTEN_OUT


def _all_but_every_fourth(config: Config, layer: int) -> str:
    """Windows in all blocks but the last of each group, which sees the whole sequence."""
    period = Size("sliding_window_pattern", default=4).read(config, layer)
    return "sliding_attention" if (layer + 1) % period else "full_attention"


def _model(**changes: Any) -> tuple[RunSource, ...]:
    return decoder(
        block(
            attention(output_bias=BIAS, qk_norm_kind=NORM, **biased(BIAS), **changes),
            mlp(),
            norm=NORM,
            num_norms=1,
            parallel=True,
        ),
        tied=TIED,
        norm=NORM,
    )


FAMILIES = (
    Family(
        "CohereForCausalLM",
        "cohere",
        _model(qk_norm=Choose(Flag("use_qk_norm", default=False), {True: QkNorm.EVERY_HEAD, False: QkNorm.NONE})),
        checks=(Rotation(), Activation()),
    ),
    Family(
        "Cohere2ForCausalLM",
        "cohere2",
        _model(
            window=Choose(
                PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(_all_but_every_fourth)),
                {"full_attention": None, "sliding_attention": WINDOW},
            )
        ),
        checks=(Rotation(), Activation()),
    ),
)
