"""Parts that encoders of text and images share: attention both ways with biases, classifiers, and checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from costmodel.spec import Activation, Attention, Block, Dense, Mlp, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.parts import FFN, HEADS, HIDDEN
from planner.models.family import One
from planner.models.keys import Computed, KindSource, Quotient, Size, Source, Word, part, width

MAX_LABELS = 2**20
ENCODER_READS_AS_MANY = "The encoder is taken to read as many tokens as the decoder."
"""What models with an encoder of text assume about their input."""


def is_of_type(*names: str) -> Callable[[Config], None]:
    """A check that model_type, where it is given, is one of `names`; the others build another tower."""

    def check(config: Config) -> None:
        Word("model_type", default=names[0], known=names).read(config, 0)

    return check


def inside(section: str, *checks: Callable[[Config], None]) -> Callable[[Config], None]:
    """The checks on the keys of a nested object."""

    def check_section(config: Config) -> None:
        for check in checks:
            check(config.section(section))

    return check_section


def labels(default: int = 2, least: int = 1) -> Computed:
    """Number of classes: the length of id2label, or num_labels where that is not given; they may not differ."""

    def count(config: Config, _: int) -> int:
        names = config.data.get("id2label")
        said = Size("num_labels", default=default, most=MAX_LABELS, least=least)
        if names is None:
            return int(said.read(config, 0))
        if not isinstance(names, dict) or not least <= len(names) <= MAX_LABELS:
            config.fail(f"id2label is {shown(names)}, but must be an object with at least {least} classes")
        if config.has("num_labels") and said.read(config, 0) != len(names):
            config.fail(
                f"id2label has {len(names)} entries, but num_labels is {said.read(config, 0)}; give one of them"
            )
        return len(names)

    return Computed(count)


def both_ways(hidden: Size = HIDDEN, heads: Size = HEADS, **changes: Any) -> KindSource:
    """Multi-head attention over the whole sequence, with all biases."""
    biases = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias"), True)
    sizes = {"hidden": hidden, "num_heads": heads, "num_kv_heads": heads, "head_dim": Quotient(hidden, heads)}
    return part(Attention, **{**sizes, **biases, "causal": False, **changes})


def two_matrices(activation: Source | Activation, hidden: Size = HIDDEN, ffn: Any = FFN, **changes: Any) -> KindSource:
    """The feed-forward network of the first transformers: up, activation, down, with biases."""
    sizes = {"hidden": hidden, "ffn_hidden": ffn, "activation": activation}
    return part(Mlp, **{**sizes, "gated": False, "bias": True, **changes})


def layer_norm_block(mixer: Any, feed_forward: Any, hidden: Size = HIDDEN, **changes: Any) -> KindSource:
    """A block with LayerNorms."""
    return part(
        Block, **{"hidden": hidden, "mixer": mixer, "feed_forward": feed_forward, "norm": Norm.LAYER, **changes}
    )


def dense(out: Any, hidden: Any = HIDDEN, *, where: Part = Part.HEAD, tokens: Any = 1, **more: Any) -> One:
    """A matrix; of a pooler or classifier it works on one token per sequence."""
    return One(where, part(Dense, **{"hidden": hidden, "out": out, "bias": True, **more}), num_tokens=tokens)


def square(hidden: Size = HIDDEN) -> One:
    """A pooler, or the first matrix of a classifier."""
    return dense(hidden, hidden)


def pads_within(key: str = "vocab_size", default: int = 0) -> Callable[[Config], None]:
    """A check that the token that pads sequences has a row in the table of `key`."""

    def check(config: Config) -> None:
        if "pad_token_id" in config.data and not config.has("pad_token_id"):
            return
        rows = width(key).read(config, 0)
        pad = config.data.get("pad_token_id", default)
        if type(pad) is not int or not -rows <= pad < rows:
            config.fail(
                f"{config.place('pad_token_id')} is {shown(pad)}, but must be the number of a token below "
                f"{config.place(key)} = {rows}"
            )

    return check
