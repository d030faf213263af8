"""Small configs of dense decoders."""

from __future__ import annotations

from typing import Any

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 10,
}
"""Queries of 4 heads of 4 (16 x 16), keys and values of 2 (16 x 8 each), output (16 x 16): 768 parameters.

A gated feed-forward network has 3 x 16 x 24 = 1152 of them, a plain one 2 x 16 x 24 = 768; a table 10 x 16 = 160."""

ATTENTION, GATED, PLAIN, TABLE = 768, 1152, 768, 160
QKV_BIAS, OUTPUT_BIAS = 32, 16
"""Of queries 16, of keys and values 8 each; of the output 16."""
