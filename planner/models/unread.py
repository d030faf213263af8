"""Keys that a class does not read, and that say its model is another one: refused, rather than passed over.

A mixture of experts is never read as a dense model, a state-space model never as a transformer, nor a part of a model
as the whole of it; wherever in the config that stands, and whether a key says it or a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from costmodel.spec import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LatentAttention,
    LightningAttention,
    Mamba,
    Mamba2,
    Moe,
)
from costmodel.spec.shown import shown, shown_key
from planner.models.config import Config
from planner.models.family import Family
from planner.models.keys import KindSource


@dataclass(frozen=True)
class Mark:
    """What gives away layers of some kinds, whatever the class is called."""

    key: re.Pattern[str]
    """Of keys whose value is not off."""
    word: re.Pattern[str]
    """Of `key=text`, for a text that stands under a key, alone or in a list."""
    kinds: tuple[type, ...]
    """Classes that have one of these may bear the mark."""
    says: str
    lacks: str

    def bears(self, key: str, value: Any) -> bool:
        """Whether `key` or a text in `value` gives the layers away."""
        # A list under a telling key counts them per block: which it is, its entries say.
        texts = [item for item in value if isinstance(item, str)] if isinstance(value, list) else [value]
        if any(isinstance(text, str) and self.word.fullmatch(f"{key}={text}") for text in texts):
            return True
        return self.key.search(key.replace("-", "_")) is not None and not _is_off(value)


MARKS = (
    Mark(
        re.compile(r"expert|(?:^|_)(?:moe|router)(?:_|$)", re.IGNORECASE),
        re.compile(r".*=(?:sparse_)?(?:moe|experts?|mixture_of_experts)(?:_mlp)?|.*(?:mlp|ffn|forward).*=sparse", re.I),
        (Moe,),
        "this is a mixture of experts",
        "is dense",
    ),
    Mark(
        re.compile(r"^(?:mamba2?|ssm|rwkv\d?|time_mix|n_mamba)_|^(?:layers_block_type|rescale_every)$"),
        re.compile(r".*=(?:mamba2?|ssm|rwkv\d?|recurrent)"),
        (Mamba, Mamba2, GatedDeltaNet),
        "this model has state-space layers",
        "has none",
    ),
    Mark(
        re.compile(r"^linear_(?:attn|attention|key|value|conv|num)(?:_|$)|^lightning_"),
        re.compile(r".*=(?:linear_attention|lightning_attention|gated_delta_net|kda)"),
        (GatedDeltaNet, KimiDeltaAttention, LightningAttention, Mamba2),
        "this model has linear attention",
        "has none",
    ),
    Mark(
        re.compile(r"^(?:kv_lora_rank|qk_nope_head_dim|qk_rope_head_dim)$"),
        re.compile(r".*=latent_attention"),
        (LatentAttention,),
        "this model has latent attention",
        "has none",
    ),
    Mark(
        re.compile(r"^(?:conv_L_cache|full_attn_idxs)$"),
        re.compile(r"layer_types=(?:conv|short_conv)"),
        (),
        "some of its blocks are convolutions",
        "has none",
    ),
    Mark(
        re.compile(r"^(?:parallel_attn_mlp_res|position_encoding_2d|relative_attention|pos_att_type)$"),
        re.compile(r"position_embedding_type=(?:rotary|alibi)"),
        (),
        "its blocks are made otherwise",
        "does not read it",
    ),
)
NAMES = ("architectures", "model_type", "auto_map", "id2label", "label2id", "quantization_config")
"""Keys under which names stand, of classes, labels or modules, and not what the model is made of."""
NESTED = re.compile(r"(?:text|vision|audio|llm|language|encoder|decoder|ffn|attn|thinker|talker)_config")
"""Keys of objects that hold part of a model."""
OTHER_BLOCKS = ("per_layer_config", "block_configs", "pruned_heads")
"""Keys that give blocks sizes of their own."""
SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
    *("d_model", "n_embd", "n_head", "n_heads", "n_layer", "n_layers", "num_heads", "num_layers"),
)
"""Keys whose value is a size in every class, also where nothing of that size is built."""
PER_BLOCK = ("layer_types", "mlp_layer_types")
"""Lists that transformers asks to have one entry per block, whatever the class."""


def refuse_unread(config: Config, family: Family) -> None:
    """Raise BadInputError for a key of `config` that `family` has not read, but that makes the model another one."""
    marks = [mark for mark in MARKS if not _mentions(family.layers, mark.kinds)]
    for place, key, value in _unread(config):
        for mark in marks:
            if mark.bears(key, value):
                config.fail(
                    f"{place} is {shown(value)}, so {mark.says}, but {family.architecture} {mark.lacks}; name the "
                    "class that it is for"
                )
    for part in _objects(config):
        for key in SIZES:
            size = part.data.get(key)
            if not part.was_read(key) and size is not None and (type(size) is not int or size < 1):
                config.fail(f"{part.place(key)} is {shown(size)}, but must be a whole number from 1")
    for key, value in config.data.items():
        if config.was_read(key) or _is_off(value):
            continue
        place = config.place(shown_key(key))
        if NESTED.fullmatch(key) and isinstance(value, dict):
            config.fail(
                f"{place} holds part of a model, but {family.architecture} does not read it; name the class that it is "
                "for"
            )
        if key in OTHER_BLOCKS:
            config.fail(
                f"{place} gives blocks sizes of their own, but {family.architecture} is read with equal ones; remove "
                "the key, or name the class that reads it"
            )
    for key in PER_BLOCK:
        count, entries = config.data.get("num_hidden_layers"), config.data.get(key)
        if isinstance(entries, list) and type(count) is int and len(entries) != count:
            config.fail(
                f"{config.place(key)} has {len(entries)} entries, but {config.place('num_hidden_layers')} is {count}; "
                "they must be as many"
            )


def _objects(config: Config) -> Iterator[Config]:
    """The config, and every object in it that was read as such."""
    yield config
    for section in config.sections.values():
        yield from _objects(section)


def _unread(config: Config) -> Iterator[tuple[str, str, Any]]:
    """Path, key and value of all that was not read, at any depth."""
    for key, value in config.data.items():
        if key in config.sections:
            yield from _unread(config.sections[key])
        elif not config.was_read(key):
            yield from _within(config.place(shown_key(key)), key, value)


def _within(place: str, key: str, value: Any) -> Iterator[tuple[str, str, Any]]:
    if key in NAMES or key.startswith("_"):
        return
    yield place, key, value
    for number, item in enumerate(value if isinstance(value, list) else [value]):
        path = f"{place}[{number}]" if isinstance(value, list) else place
        for inner, held in item.items() if isinstance(item, dict) else ():
            yield from _within(f"{path}.{shown_key(inner)}", inner, held)


def _is_off(value: Any) -> bool:
    """Whether a value says that there is nothing of the kind; a single expert is a dense network."""
    return value is None or value is False or value in ("", [], {}) or (type(value) in (int, float) and value in (0, 1))


def _mentions(source: Any, kinds: tuple[type, ...]) -> bool:
    """Whether the data of a family holds one of `kinds`, in any of its cases."""
    if isinstance(source, KindSource):
        return issubclass(source.kind, kinds) or _mentions(source.fields, kinds)
    if isinstance(source, Mapping):
        return any(_mentions(value, kinds) for value in source.values())
    if isinstance(source, Iterable) and not isinstance(source, str):
        return any(_mentions(item, kinds) for item in source)
    if is_dataclass(source) and not isinstance(source, type):
        return any(_mentions(getattr(source, field.name), kinds) for field in fields(source))
    return False
