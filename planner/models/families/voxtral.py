"""Voxtral: Whisper's encoder of sound, whose frames become tokens of a Llama."""

from __future__ import annotations

from costmodel.spec import Dense, Part
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.encoder_parts import inside, is_of_type
from planner.models.families.language import ONE_WINDOW, PROJECTS, Language, by_model_type
from planner.models.families.llama import ATTENTION_BIAS, HEAD_DIM_128, KV_HEADS_OF_8, MLP_BIAS
from planner.models.families.parts import UNTIED, attention, biased, block, decoder, mlp
from planner.models.families.whisper import FRAMES, tower
from planner.models.family import Family, One, Within
from planner.models.keys import Computed, In, Size, layers, part, width

TOWER_WIDTH = width("hidden_size", aliases=("d_model",))
TOWER_FFN = width("intermediate_size", aliases=("encoder_ffn_dim",))
TOWER = tower(
    Part.AUDIO,
    Part.AUDIO,
    TOWER_WIDTH,
    Size("num_attention_heads", aliases=("encoder_attention_heads",)),
    TOWER_FFN,
    layers("num_hidden_layers", aliases=("encoder_layers",)),
    Size("num_mel_bins", default=128),
)

# A Llama whose missing keys take values of Voxtral's own; its head is never tied.
LANGUAGE = Language(
    by_model_type(
        Family(
            "LlamaModel",
            "llama",
            decoder(
                block(
                    attention(
                        num_kv_heads=KV_HEADS_OF_8,
                        head_dim=HEAD_DIM_128,
                        output_bias=ATTENTION_BIAS,
                        **biased(ATTENTION_BIAS),
                    ),
                    mlp(bias=MLP_BIAS),
                ),
                tied=UNTIED,
            ),
            checks=(Rotation(HEAD_DIM_128), Activation()),
        )
    ),
    "llama",
    tied=False,
)


def _tokens(config: Config, layer: int) -> int:
    """Frames are put side by side until they are as wide as the tower's feed-forward network."""
    audio = config.section("audio_config")
    values = FRAMES.read(audio, layer) * TOWER_WIDTH.read(audio, layer)
    columns = TOWER_FFN.read(audio, layer)
    if values % columns:
        config.fail(
            f"{audio.place('intermediate_size')} is {columns}, but the {values} numbers of a window of sound "
            f"({audio.place('max_source_positions')} x {audio.place('hidden_size')}) must be a multiple of it, since "
            "they are reshaped to that width"
        )
    return int(values // columns)


TOKENS = Computed(_tokens)

FAMILIES: tuple[Family, ...] = (
    Family(
        "VoxtralForConditionalGeneration",
        "voxtral",
        (
            Within("audio_config", TOWER),
            One(
                Part.CONNECTOR,
                part(Dense, hidden=In("audio_config", TOWER_FFN), out=LANGUAGE.width),
                num_tokens=TOKENS,
            ),
            One(Part.CONNECTOR, part(Dense, hidden=LANGUAGE.width, out=LANGUAGE.width), num_tokens=TOKENS),
            LANGUAGE,
        ),
        max_seq_len=LANGUAGE.longest,
        checks=(
            PROJECTS,
            inside("audio_config", is_of_type("voxtral_encoder")),
        ),
        note=ONE_WINDOW,
    ),
)
