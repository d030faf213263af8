"""Says in words what a layer is, as a person who knows the field would."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel import units
from costmodel.spec import (
    Attention,
    Block,
    Dense,
    Embedding,
    FinalNorm,
    GatedDeltaNet,
    Head,
    KimiDeltaAttention,
    LatentAttention,
    Layer,
    LayerRun,
    LightningAttention,
    Mamba,
    Mamba2,
    Mlp,
    ModelSpec,
    Moe,
    Part,
    Stem,
    Traced,
)
from costmodel.spec.layers.block import FeedForward, Mixer

_STACKS = {Part.ENCODER: "encoder", Part.VISION: "vision", Part.AUDIO: "sound"}
"""Parts that are stacks of blocks of their own, beside the main one."""


@dataclass(frozen=True)
class Stack:
    """Blocks of one part of a model; `width` is one number, or the least and the greatest."""

    word: str
    """What it is, e.g. `encoder`; empty for the only stack of a language model."""
    count: int
    width: str

    def __str__(self) -> str:
        """E.g. `24 decoder blocks of width 1,024`."""
        return f"{self.count} {self.word}{' ' * bool(self.word)}block{'s' * (self.count > 1)} of width {self.width}"

    @property
    def short(self) -> str:
        """For a cell of a table, e.g. `24 decoder x 1,024`."""
        return f"{self.count}{' ' * bool(self.word)}{self.word} x {self.width}"


def stacks_of(model: ModelSpec) -> tuple[Stack, ...]:
    """Each stack of blocks, in the order of computation."""
    found: dict[Part, list[LayerRun]] = {}
    for run in model.runs:
        if isinstance(run.layer, Block | Traced) and (run.part is Part.BLOCKS or run.part in _STACKS):
            found.setdefault(run.part, []).append(run)
    main = "decoder" if Part.ENCODER in found else "text" if len(found) > 1 else ""
    return tuple(_stack(_STACKS.get(part, main), runs) for part, runs in found.items())


def _stack(word: str, runs: list[LayerRun]) -> Stack:
    widths = [run.layer.hidden for run in runs]
    width = f"{min(widths):,}" if len(set(widths)) == 1 else f"{min(widths):,} to {max(widths):,}"
    return Stack(word, sum(run.count for run in runs), width)


def describe_layer(layer: Layer) -> str:
    """One layer in a phrase."""
    match layer:
        case Embedding():
            tables = f", {layer.num_positions:,} positions" if layer.num_positions else ""
            return f"{layer.vocab:,} tokens of width {layer.table_width or layer.hidden:,}{tables}"
        case Stem():
            return f"{len(layer.filters)} convolution{'s' * (len(layer.filters) > 1)} to width {layer.hidden:,}"
        case FinalNorm():
            return f"norm over {layer.hidden:,}"
        case Dense():
            return f"matrix {layer.hidden:,} x {layer.out:,}"
        case Head():
            return f"{layer.vocab:,} logits{' (table tied to the embedding)' if layer.tied else ''}"
        case Traced():
            return f"{layer.name} of width {layer.hidden:,}, known by tracing: {units.format_count(layer.params)}"
        case Block():
            parts = [_mixer(layer.mixer)] if layer.mixer is not None else []
            if layer.beside is not None:
                parts.append(f"beside it {_mixer(layer.beside)}")
            if layer.cross_attention is not None:
                parts.append(f"cross-attention with {_heads(layer.cross_attention)}")
            if layer.feed_forward is not None:
                parts.append(_feed_forward(layer.feed_forward))
            return f"width {layer.hidden:,}: {', '.join(parts)}{' in parallel' if layer.parallel else ''}"


def _mixer(mixer: Mixer) -> str:
    match mixer:
        case Attention():
            words = _heads(mixer)
            if mixer.window is not None:
                words += f" over {'chunks' if mixer.chunked else 'a window'} of {mixer.window:,} tokens"
            return words if mixer.causal else f"{words}, both ways"
        case LatentAttention():
            index = f", {mixer.index_topk:,} keys picked by an index" if mixer.index_topk else ""
            return (
                f"latent attention with {mixer.num_heads} heads of {mixer.qk_nope_head_dim} + "
                f"{mixer.qk_rope_head_dim}, latent {mixer.kv_lora_rank}{index}"
            )
        case Mamba():
            return f"Mamba with {mixer.inner:,} channels, state {mixer.state_size}"
        case Mamba2():
            return f"Mamba-2 with {mixer.num_heads} heads of {mixer.head_dim}, state {mixer.state_size}"
        case GatedDeltaNet():
            return (
                f"gated delta net with {mixer.num_key_heads} key heads of {mixer.key_dim} and "
                f"{mixer.num_value_heads} value heads of {mixer.value_dim}"
            )
        case KimiDeltaAttention():
            return f"Kimi delta attention with {mixer.num_heads} heads of {mixer.head_dim}"
        case LightningAttention():
            return f"lightning attention with {mixer.num_heads} heads of {mixer.head_dim}"


def _heads(attention: Attention) -> str:
    shared = attention.num_kv_heads != attention.num_heads
    groups = f", {attention.num_kv_heads} for keys and values" if shared else ""
    return f"{attention.num_heads} heads of {attention.head_dim}{groups}"


def _feed_forward(feed_forward: FeedForward) -> str:
    match feed_forward:
        case Mlp():
            return f"{'gated ' if feed_forward.gated else ''}feed-forward {feed_forward.ffn_hidden:,}"
        case Moe():
            shared = feed_forward.shared
            return (
                f"{feed_forward.num_experts} experts of {feed_forward.ffn_hidden:,}, "
                f"{feed_forward.experts_per_token} per token"
                + (f", and {shared.ffn_hidden:,} for all tokens" if shared is not None else "")
            )
