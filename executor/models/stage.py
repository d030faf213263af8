"""A run of consecutive layers of a causal language model as one module: a pipeline stage, or a single layer.

The modules are those of Hugging Face transformers under their own names, so a stage's parameters are called as in the
whole model (`model.layers.3.mlp.up_proj.weight`) and checkpoints and references line up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

WRAPPER_PREFIX = "_checkpoint_wrapped_module."
"""What torch's checkpoint wrapper adds to the names of a layer's parameters."""


class Stage(nn.Module):
    """Layers `layers` of the sequence embedding, blocks, head; which of them there are decides input and output.

    Input: token ids [b, s] (int64) where the embedding is here, else hidden states [b, s, h]. Output: logits
    [b, s, v] where the head is here, else hidden states. Under tensor parallelism hidden states are the rank's slice
    of the sequence, [b, s / tp, h], and logits its slice of the vocabulary, [b, s, v / tp].
    """

    # Typed as torch types the attributes of modules that are looked up by name.
    model: Any
    lm_head: Any

    def __init__(self, whole: Any, layers: range) -> None:
        """Takes its modules out of `whole`, a transformers causal language model built on the meta device."""
        super().__init__()
        head_index = len(whole.model.layers) + 1
        self.layers = layers
        self.sequence_slices = 1
        """Ranks that share a sequence between blocks; set when tensor parallelism is applied."""
        self.model = nn.Module()
        if 0 in layers:
            self.model.embed_tokens = whole.model.embed_tokens
        self.model.layers = nn.ModuleDict(
            {str(index - 1): whole.model.layers[index - 1] for index in layers if 0 < index < head_index}
        )
        if self.model.layers:
            self.model.rotary_emb = whole.model.rotary_emb
        if head_index in layers:
            self.model.norm = whole.model.norm
            self.lm_head = whole.lm_head
            if self.has_embedding and whole.config.tie_word_embeddings:
                self.lm_head.weight = self.model.embed_tokens.weight

    @property
    def has_embedding(self) -> bool:
        """Whether this is where token ids enter."""
        return hasattr(self.model, "embed_tokens")

    @property
    def has_head(self) -> bool:
        """Whether this is where logits leave."""
        return hasattr(self, "lm_head")

    @property
    def tied(self) -> bool:
        """Whether embedding and head are both here and share one table."""
        return bool(self.has_embedding and self.has_head and self.lm_head.weight is self.model.embed_tokens.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Token ids or hidden states in, hidden states or logits out; attention is causal."""
        if self.has_embedding:
            x = self.model.embed_tokens(x)
        if self.model.layers:
            # Attention sees the whole sequence, whichever slice of it this rank holds between the blocks.
            positions = torch.arange(x.shape[1] * self.sequence_slices, device=x.device).unsqueeze(0)
            rotary = self.model.rotary_emb(x, positions)
            for block in self.model.layers.values():
                x = block(x, attention_mask=None, position_ids=positions, position_embeddings=rotary)
        if self.has_head:
            x = self.lm_head(self.model.norm(x))
        return x

    def units(self) -> list[list[nn.Module]]:
        """The modules of each layer that has parameters of its own, in order: what is sharded and gathered together.

        A tied table belongs to embedding and head, which are one unit then.
        """
        head = [self.model.norm, self.lm_head] if self.has_head else []
        if self.tied:
            return [[block] for block in self.model.layers.values()] + [[self.model.embed_tokens, *head]]
        embedding = [self.model.embed_tokens] if self.has_embedding else []
        return [unit for unit in ([embedding] + [[block] for block in self.model.layers.values()] + [head]) if unit]

    def parameters_by_name(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Every parameter once, by its name in the whole model."""
        for name, parameter in self.named_parameters():
            yield name.replace(WRAPPER_PREFIX, ""), parameter

    def materialize(self, device: torch.device) -> None:
        """Move from meta to `device`: parameters get memory but no values, rotary frequencies are computed."""
        rotary: Any = self.model.rotary_emb if self.model.layers else None
        self.to_empty(device=device)
        if rotary is not None:
            with device:
                self.model.rotary_emb = type(rotary)(rotary.config)
