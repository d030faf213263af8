"""Nemotron-H and Nemotron 3: blocks of one part each, Mamba-2, attention, a feed-forward network or experts.

A pattern with one letter per block says which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from costmodel.spec import Attention, Block, Dense, FinalNorm, LayerRun, Mamba2, Mlp, Moe, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.parts import FFN, HEADS, HIDDEN, decoder
from planner.models.family import Family
from planner.models.keys import MAX_LAYERS, Choose, Computed, Flag, Size, layers, part, tokens, width

LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
"""What the letters of a pattern stand for."""
NAMES = {
    **{name: name for name in LETTERS.values()},
    "linear_attention": "mamba",
    "full_attention": "attention",
}
"""The same in lists, where newer files call two of them otherwise."""

BIAS = Flag("use_bias", default=False)
MLP_BIAS = Flag("mlp_bias", default=False)
HEAD_DIM = width("head_dim", default=128)
LATENT = width("moe_latent_size", default=None)
NUM_PREDICTED = Size("num_nextn_predict_layers", default=None, least=0, most=MAX_LAYERS)


def _pattern(config: Config, lists: tuple[str, ...], letters: str) -> list[str] | None:
    """Kinds of the blocks by the first of `lists` that is given, else by the text under `letters`; None if none is."""
    for key in lists:
        if config.has(key):
            names = config.data[key]
            if not isinstance(names, list) or not 0 < len(names) <= MAX_LAYERS:
                config.fail(f"{config.place(key)} is {shown(names)}, but must be a list with the kind of each block")
            for index, name in enumerate(names):
                if not isinstance(name, str) or name not in NAMES:
                    config.fail(f"{config.place(key)}[{index}] is {shown(name)}, but must be one of {', '.join(NAMES)}")
            return [NAMES[name] for name in names]
    if not config.has(letters):
        return None
    text = config.data[letters]
    if not isinstance(text, str) or not 0 < len(text) <= MAX_LAYERS or set(text) - set(LETTERS):
        config.fail(
            f"{config.place(letters)} is {shown(text)}, but must be a text with one of {' '.join(LETTERS)} per block"
        )
    return [LETTERS[letter] for letter in text]


def _kinds(config: Config) -> list[str]:
    """Kinds of the blocks of the main stack."""
    kinds = _pattern(config, ("layers_block_type", "layer_types"), "hybrid_override_pattern")
    if kinds is None:
        config.fail(
            f"{config.place('hybrid_override_pattern')} is missing, and so is {config.place('layers_block_type')}; "
            "one of them must say what each block is"
        )
    return kinds


NUM_LAYERS = Computed(lambda config, _layer: len(_kinds(config)))
LAYERS = layers("num_hidden_layers", default=NUM_LAYERS, null=NUM_LAYERS)


def _kind(config: Config, layer: int) -> str:
    """Kind of one block; a count of blocks that the pattern contradicts is refused, where the class goes by the
    pattern."""
    kinds, num_layers = _kinds(config), LAYERS.read(config, layer)
    if len(kinds) != num_layers:
        config.fail(
            f"{config.place(LAYERS.name)} is {num_layers}, but the pattern of the blocks has {len(kinds)}; they must "
            "be as many"
        )
    return kinds[layer]


MIXER = {
    "mamba": part(
        Mamba2,
        hidden=HIDDEN,
        num_heads=Size("mamba_num_heads", default=128),
        head_dim=width("mamba_head_dim", default=64),
        num_groups=Size("n_groups", default=8, aliases=("mamba_n_groups",)),
        state_size=Size("ssm_state_size", default=128),
        conv_kernel=Size("conv_kernel", default=4, aliases=("mamba_d_conv",)),
        chunk_size=Size("chunk_size", default=128, aliases=("mamba_chunk_size",)),
        bias=BIAS,
        conv_bias=Flag("use_conv_bias", default=True, aliases=("mamba_conv_bias",)),
    ),
    # Without biases, whatever attention_bias says.
    "attention": part(
        Attention,
        hidden=HIDDEN,
        num_heads=HEADS,
        num_kv_heads=Size("num_key_value_heads", default=8, null=HEADS),
        head_dim=HEAD_DIM,
    ),
    "mlp": None,
    "moe": None,
}


def _latent_bias(config: Config, layer: int) -> int:
    """Biases of the projections around the experts; the experts have none."""
    latent = LATENT.read(config, layer)
    if latent is None or not MLP_BIAS.read(config, layer):
        return 0
    return int(latent + HIDDEN.read(config, layer))


FEED_FORWARD = {
    "mamba": None,
    "attention": None,
    "mlp": part(Mlp, hidden=HIDDEN, ffn_hidden=FFN, gated=False, bias=MLP_BIAS),
    "moe": part(
        Moe,
        hidden=HIDDEN,
        num_experts=Size("n_routed_experts", aliases=("num_local_experts",)),
        experts_per_token=Size("num_experts_per_tok"),
        ffn_hidden=width("moe_intermediate_size"),
        gated=False,
        router_in_fp32=True,
        latent=LATENT,
        shared=part(
            Mlp, hidden=HIDDEN, ffn_hidden=width("moe_shared_expert_intermediate_size"), gated=False, bias=MLP_BIAS
        ),
        other_params=Computed(_latent_bias),
    ),
}


def _block(kind: Any) -> Any:
    """A norm and one part."""
    return part(Block, hidden=HIDDEN, num_norms=1, mixer=Choose(kind, MIXER), feed_forward=Choose(kind, FEED_FORWARD))


@dataclass(frozen=True)
class _Constant:
    """A kind of block that is known beforehand."""

    kind: str

    def read(self, _config: Config, _layer: int) -> str:
        """The kind."""
        return self.kind


@dataclass(frozen=True)
class _Prediction:
    """Modules of multi-token prediction as in DeepSeek-V3 (arXiv 2412.19437, section 2.2), whose blocks have a pattern
    of their own: two norms and a projection of twice the width, the blocks, a norm."""

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """The modules, as many as the config says."""
        hidden, count = HIDDEN.read(config, 0), NUM_PREDICTED.read(config, 0) or 0
        if count:
            config.asked_by(NUM_PREDICTED.name)
        for _ in range(count):
            kinds = _pattern(config, ("mtp_layers_block_type",), "mtp_hybrid_override_pattern")
            yield self._run(Dense(hidden=2 * hidden, out=hidden, norm=Norm.RMS))
            for kind in kinds or ["attention", "moe"]:
                yield self._run(_block(_Constant(kind)).read(config, 0))
            yield self._run(FinalNorm(hidden=hidden, norm=Norm.RMS))

    @staticmethod
    def _run(layer: Any) -> LayerRun:
        return LayerRun(part=Part.BLOCKS, layer=layer)


def _head_width_agrees(config: Config) -> None:
    """Older files say attention_head_dim, which the class does not read."""
    head_dim, other = HEAD_DIM.read(config, 0), config.data.get("attention_head_dim")
    if other is not None and other != head_dim:
        config.fail(
            f"{config.place('attention_head_dim')} is {shown(other)}, but the class takes "
            f"{config.place('head_dim')} = {head_dim}; give both alike"
        )


def _tells_of_ties(config: Config) -> None:
    """The class has a head of its own even where the config ties it."""
    if Flag("tie_word_embeddings", default=False).read(config, 0):
        config.assume("tie_word_embeddings is true, but NemotronHForCausalLM does not tie its head; it is counted.")


FAMILIES = (
    Family(
        "NemotronHForCausalLM",
        "nemotron_h",
        decoder(_block(Computed(_kind)), tied=False, count=LAYERS),
        max_seq_len=tokens("max_position_embeddings", default=4096),
        mtp=(_Prediction(),),
        checks=(
            _head_width_agrees,
            _tells_of_ties,
            Activation("mlp_hidden_act", "relu2"),
            Activation("mamba_hidden_act"),
        ),
    ),
)
