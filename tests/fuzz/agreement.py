"""Keys of an accepted config that must agree with each other and with the model, whatever the class is.

A class is taken to read the keys that its samples have; others may hold anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from costmodel.spec import Attention, Block, ModelSpec
from tests.fuzz.samples import by_class, samples

DECODER_LAYERS = ("decoder_layers", "num_decoder_layers")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers")
HEADS = ("num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads")
SIZES = (*LAYERS, "hidden_size", "intermediate_size")
SIZES_OF_ATTENTION = (*HEADS, "num_key_value_heads", "head_dim")
WITH_DECODER = re.compile("(U?M?T5|Bart|MBart|Pegasus|Whisper)(?!.*(EncoderModel|TokenClass|AudioClass))")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token")


def disagreements(data: dict[str, Any], spec: ModelSpec) -> Iterator[str]:
    """What in the config `data` contradicts what."""
    read = _keys_of(spec.architecture)
    main = {key: value for key, value in _main(data).items() if key in read}
    if "block_configs" in main:
        main = {key: main[key] for key in LAYERS if key in main}  # The sizes of each block stand in that list.
    attends = any(isinstance(block, Block) and isinstance(block.mixer, Attention) for block in spec.blocks)
    for key in (*SIZES, *SIZES_OF_ATTENTION) if attends else SIZES:
        if main.get(key) is not None and (type(main[key]) is not int or main[key] < 1):
            yield f"{key} is {main[key]!r}"
    has_decoder = WITH_DECODER.match(spec.architecture)
    keys = (*DECODER_LAYERS, *LAYERS) if has_decoder else LAYERS
    num_layers = _first(main, keys)
    if num_layers is not None and num_layers != spec.num_layers:
        yield f"the config says {num_layers} layers, but the model has {spec.num_layers}"
    for key in ("layer_types", "mlp_layer_types"):
        if isinstance(main.get(key), list) and len(main[key]) != num_layers:
            yield f"{key} has {len(main[key])} entries for {num_layers} layers"
    if attends:
        heads, kv_heads = main.get("num_attention_heads"), main.get("num_key_value_heads")
        if heads is not None and kv_heads is not None and heads % kv_heads:
            yield f"{heads} heads share {kv_heads} for keys and values"
    if spec.architecture in ("PhimoeForCausalLM", "PhiMoEForCausalLM"):
        return  # They pick two experts, whatever the config says.
    experts, per_token = _first(main, EXPERTS), _first(main, PER_TOKEN)
    if experts is not None and per_token is not None and per_token > experts > 1:
        yield f"{per_token} of {experts} experts for each token"


def _main(data: dict[str, Any]) -> dict[str, Any]:
    """The keys of the main stack."""
    text = data.get("text_config")
    return text if isinstance(text, dict) else data


@cache
def _keys_of(architecture: str) -> frozenset[str]:
    keys = frozenset(key for name in by_class().get(architecture, ()) for key in _main(samples()[name]))
    return keys | frozenset(DECODER_LAYERS) if WITH_DECODER.match(architecture) else keys


def _first(data: dict[str, Any], keys: tuple[str, ...]) -> int | None:
    return next((data[key] for key in keys if type(data.get(key)) is int), None)
