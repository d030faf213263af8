"""Builds Hugging Face causal language models layer by layer from the raw config, random weights, nothing downloaded.

The layers are numbered as in `ModelSpec`: 0 is the embedding, 1 to N the blocks, N + 1 the head (final norm and
projection onto the vocabulary).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers import AutoModelForCausalLM

from costmodel.errors import BadInputError
from executor.models.config import read_config
from executor.models.initial_weights import fill
from executor.models.stage import Stage

NUM_BYTES = 256
"""Token ids of byte-level text."""


class HFCausalLM:
    """A model as its config describes it: builds stages on the meta device and single layers with memory."""

    def __init__(self, hf_config: dict[str, Any]) -> None:
        """Raises BadInputError for a class that cannot be built or a config that transformers refuses."""
        self._raw = dict(hf_config)
        self.config = read_config(self._raw)
        self.num_blocks: int = self.config.num_hidden_layers
        self.vocab: int = self.config.vocab_size
        self.hidden: int = self.config.hidden_size
        self.initializer_range: float = self.config.initializer_range
        self.tied: bool = self.config.tie_word_embeddings

    @property
    def num_layers(self) -> int:
        """Layers of the whole sequence, embedding and head included."""
        return self.num_blocks + 2

    def build_stage(self, layers: range) -> Stage:
        """The layers `layers` on the meta device, in fp32: no memory, no values."""
        return _stage(self.config, layers)

    def build_layer(self, index: int, tp: int, device: torch.device, dtype: torch.dtype) -> nn.Module:
        """Layer `index` with memory and random weights: what one of `tp` ranks computes, without communication.

        The module maps a tensor to a tensor (see `Stage`). A shard has 1 / tp of the heads, the feed-forward columns
        and the vocabulary, and the whole width `hidden`; it takes the gathered input, and its output is the rank's
        summand. Raises BadInputError where tp does not divide one of them.
        """
        self.check_divides(tp)
        stage = _stage(_shard_config(self._raw, self.config, tp), range(index, index + 1))
        stage.materialize(device)
        fill(stage, seed=0, std=self.initializer_range)
        # Not `stage.to(dtype)`: rotary frequencies stay in fp32, as they do in a run.
        for parameter in stage.parameters():
            parameter.data = parameter.data.to(dtype)
        return stage

    def example_input(
        self, index: int, micro_batch: int, seq_len: int, device: torch.device, dtype: torch.dtype
    ) -> torch.Tensor:
        """Random input of layer `index`: token ids [micro_batch, seq_len], or hidden states with a last dim h.

        Hidden states require a gradient, as they do in training.
        """
        generator = torch.Generator("cpu").manual_seed(index)
        if index == 0:
            # tp divides the key-value heads, so these ids lie within the table of any shard.
            limit = min(NUM_BYTES, self.vocab // self.config.num_key_value_heads)
            ids = torch.randint(0, limit, (micro_batch, seq_len), generator=generator)
            return ids.to(device)
        hidden = torch.randn(micro_batch, seq_len, self.hidden, generator=generator)
        return hidden.to(device=device, dtype=dtype).requires_grad_()

    def loss(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy in fp32 of logits [b, s, v] against token ids [b, s]."""
        return functional.cross_entropy(output.float().flatten(0, 1), target.flatten())

    def check_divides(self, tp: int) -> None:
        """Raises BadInputError unless tensor parallelism of `tp` ranks can cut heads, columns and vocabulary."""
        for name in ("num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size"):
            value = getattr(self.config, name)
            if value % tp:
                raise BadInputError(f"tp is {tp}, but the config's {name} is {value}; tp must divide it")

    def check_sequence(self, seq_len: int) -> None:
        """Raises BadInputError where a sliding window would be shorter than the sequence: attention here is full."""
        window = getattr(self.config, "sliding_window", None)
        layer_types = getattr(self.config, "layer_types", None) or ("sliding_attention",)
        if window is not None and window < seq_len and "sliding_attention" in layer_types:
            raise BadInputError(
                f"config: sliding_window is {window}, but seq_len is {seq_len}; "
                f"the executor attends to the whole sequence, so use --seq-len {window} or less"
            )


def _stage(config: Any, layers: range) -> Stage:
    with torch.device("meta"):
        whole = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            config, attn_implementation="sdpa", dtype=torch.float32
        )
    return Stage(whole, layers)


def _shard_config(raw: dict[str, Any], config: Any, tp: int) -> Any:
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    shard = {
        "num_attention_heads": config.num_attention_heads // tp,
        "num_key_value_heads": config.num_key_value_heads // tp,
        "head_dim": head_dim,
        "intermediate_size": config.intermediate_size // tp,
        "vocab_size": config.vocab_size // tp,
    }
    return read_config(raw | shard)
