"""Let Megatron-LM itself judge exported arguments: run by its own interpreter.

Usage: python megatron_checker.py WORLD_SIZE ARGUMENT...; prints one JSON object. With MEGATRON_PATH, a checkout of
Megatron-LM, its own parser reads and validates the arguments; else, with the wheel of megatron-core alone, they are
handed to TransformerConfig, and those that only the trainer knows are listed under `unread`.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import sys
from typing import Any

CHECKOUT = os.environ.get("MEGATRON_PATH")
if CHECKOUT:
    sys.path.insert(0, CHECKOUT)

import torch  # noqa: E402
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402

SWITCHES: dict[str, dict[str, Any]] = {
    "--swiglu": {"gated_linear_unit": True, "activation_func": torch.nn.functional.silu},
    "--disable-bias-linear": {"add_bias_linear": False},
    "--bf16": {"bf16": True, "params_dtype": torch.bfloat16, "pipeline_dtype": torch.bfloat16},
}
"""Flags that stand for values of other fields."""
RENAMED = {"--norm-epsilon": "layernorm_epsilon"}


def by_trainer(words: list[str]) -> tuple[TransformerConfig, list[str]]:
    from megatron.training import arguments

    # There is no device here; generation 9 (Hopper) is the stricter one about environment variables.
    arguments.get_device_arch_version = lambda: 9
    sys.argv = ["pretrain_gpt.py", *words, "--train-iters", "10", "--lr", "3e-4", "--mock-data"]
    # Fused rotary embedding needs Transformer Engine, which has no CPU build.
    sys.argv += ["--tokenizer-type", "NullTokenizer", "--vocab-size", "511", "--no-rope-fusion"]
    args = arguments.parse_args()
    arguments.validate_args(args)
    return arguments.core_transformer_config_from_args(args), []


def by_config(words: list[str]) -> tuple[TransformerConfig, list[str]]:
    fields = {field.name for field in dataclasses.fields(TransformerConfig)}
    values: dict[str, Any] = {}
    unread = []
    for option, *rest in _options(words):
        name = RENAMED.get(option, option.removeprefix("--").replace("-", "_"))
        if option in SWITCHES:
            values |= SWITCHES[option]
        elif name in fields:
            values[name] = _value(rest[0]) if rest else True
        else:
            unread.append(option)
    return TransformerConfig(**values), unread


def _options(words: list[str]) -> list[list[str]]:
    options: list[list[str]] = []
    for word in words:
        if word.startswith("--"):
            options.append([])
        options[-1].append(word)
    return options


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def main(world_size: int, words: list[str]) -> dict[str, Any]:
    os.environ |= {"WORLD_SIZE": str(world_size), "RANK": "0", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    config, unread = by_trainer(words) if CHECKOUT else by_config(words)
    layout = config.pipeline_model_parallel_layout
    return {
        "stages": [[kind.name for kind in rank[0]] for rank in layout.layout] if layout else None,
        "tp": config.tensor_model_parallel_size,
        "pp": config.pipeline_model_parallel_size,
        "sequence_parallel": config.sequence_parallel,
        "num_query_groups": config.num_query_groups,
        "ffn_hidden_size": config.ffn_hidden_size,
        "gated": config.gated_linear_unit,
        "biases": [config.add_bias_linear, config.add_qkv_bias],
        "recompute": [config.recompute_granularity, config.recompute_method, config.recompute_num_layers],
        "unread": unread,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]), sys.argv[2:])) + "\n")
