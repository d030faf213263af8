"""DBRX, whose keys for attention and experts stand in objects of their own."""

from __future__ import annotations

from costmodel.spec import Attention, Block, Embedding, Head, Moe, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.parts import UNTIED, VOCAB
from planner.models.family import Family, One, Stack
from planner.models.keys import In, Quotient, Size, layers, part, tokens, width

HIDDEN = width("d_model")
"""The class builds experts of another width where it stands under hidden_size only."""
HEADS = Size("n_heads", aliases=("num_attention_heads",))
LAYERS = layers("n_layers", aliases=("num_hidden_layers",))
HEAD_DIM = Quotient(HIDDEN, HEADS)


def _is_untied(config: Config) -> None:
    if UNTIED.read(config, 0):
        config.fail(
            f"{config.place(UNTIED.name)} is true, but {config.architecture} cannot tie its embeddings; give false"
        )


def _widths_agree(config: Config) -> None:
    """One width for the whole model, also where an object for experts gives it again."""
    hidden = HIDDEN.read(config, 0)
    for place in (config, config.section("ffn_config")):
        if place.has("hidden_size") and place.data["hidden_size"] != hidden:
            config.fail(
                f"{place.place('hidden_size')} is {shown(place.data['hidden_size'])}, but {config.place('d_model')} "
                f"is {hidden}; make them agree"
            )


def _activates(config: Config) -> None:
    experts = config.section("ffn_config")
    if experts.has("ffn_act_fn"):
        Activation("name")(experts.section("ffn_act_fn"))


ATTENTION = part(
    Attention,
    hidden=HIDDEN,
    num_heads=HEADS,
    num_kv_heads=In("attn_config", Size("kv_n_heads", default=1), default={}),
    head_dim=HEAD_DIM,
)
EXPERTS = part(
    Moe,
    hidden=HIDDEN,
    num_experts=In("ffn_config", Size("moe_num_experts")),
    experts_per_token=In("ffn_config", Size("moe_top_k")),
    ffn_hidden=In("ffn_config", width("ffn_hidden_size")),
)

FAMILIES = (
    Family(
        "DbrxForCausalLM",
        "dbrx",
        (
            One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN)),
            Stack(
                part(Block, hidden=HIDDEN, mixer=ATTENTION, feed_forward=EXPERTS, norm=Norm.LAYER_WITHOUT_BIAS),
                LAYERS,
            ),
            One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN, norm=Norm.LAYER_WITHOUT_BIAS)),
        ),
        max_seq_len=tokens("max_seq_len", default=None, aliases=("max_position_embeddings",)),
        checks=(Rotation(HEAD_DIM), _is_untied, _widths_agree, _activates),
    ),
)
