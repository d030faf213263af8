"""A small decoder in plain torch, for tests of the profiler that need no Hugging Face model."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributed._functional_collectives import all_gather_tensor_autograd, reduce_scatter_tensor_autograd
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

from costmodel.spec import Block, Embedding, Head, LayerRun, ModelSpec, Part
from tests.samples.blocks import attention_of, dense_block, mlp_of


def small_model(
    hidden: int = 32, num_heads: int = 4, ffn_hidden: int = 64, vocab: int = 96, num_blocks: int = 4
) -> ModelSpec:
    block = dense_block(
        hidden=hidden, num_heads=num_heads, num_kv_heads=num_heads, head_dim=hidden // num_heads, ffn_hidden=ffn_hidden
    )
    return ModelSpec(
        name="small",
        architecture="LlamaForCausalLM",
        runs=(
            LayerRun(part=Part.EMBEDDING, layer=Embedding(vocab=vocab, hidden=hidden)),
            LayerRun(part=Part.BLOCKS, layer=block, count=num_blocks),
            LayerRun(part=Part.HEAD, layer=Head(vocab=vocab, hidden=hidden)),
        ),
        max_seq_len=512,
    )


class Share(nn.Module):
    """Norm, attention, norm, gated feed-forward network: the share of one of `tp` ranks."""

    def __init__(self, spec: Block, tp: int) -> None:
        super().__init__()
        attention = attention_of(spec)
        self.heads, self.head_dim = attention.num_heads // tp, attention.head_dim
        width, ffn = self.heads * self.head_dim, mlp_of(spec).ffn_hidden // tp
        self.attention_norm, self.mlp_norm = nn.RMSNorm(spec.hidden), nn.RMSNorm(spec.hidden)
        self.query, self.key, self.value = (nn.Linear(spec.hidden, width, bias=False) for _ in range(3))
        self.output = nn.Linear(width, spec.hidden, bias=False)
        self.gate, self.up = (nn.Linear(spec.hidden, ffn, bias=False) for _ in range(2))
        self.down = nn.Linear(ffn, spec.hidden, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        batch, seq_len, _ = hidden.shape
        x = self.attention_norm(hidden)
        query, key, value = (
            projection(x).view(batch, seq_len, self.heads, self.head_dim).transpose(1, 2)
            for projection in (self.query, self.key, self.value)
        )
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.output(attended.transpose(1, 2).reshape(batch, seq_len, -1))
        x = self.mlp_norm(hidden)
        return hidden + self.down(functional.silu(self.gate(x)) * self.up(x))


class Split(nn.Module):
    """A block's share between a gather of the sequence and a scatter of the sum, without DTensor."""

    def __init__(self, share: Share, mesh: DeviceMesh) -> None:
        super().__init__()
        self.share, self.mesh = share, mesh

    def forward(self, part: Tensor) -> Tensor:
        whole = all_gather_tensor_autograd(part, 1, self.mesh)
        return reduce_scatter_tensor_autograd(self.share(whole), "sum", 1, self.mesh)


class SmallLayers:
    """Builds the layers of `model`; a LayerFactory."""

    def __init__(self, model: ModelSpec) -> None:
        self.model = model

    def build_layer(self, index: int, tp: int, device: torch.device, dtype: torch.dtype) -> nn.Module:
        layer = self.model.layers[index]
        if isinstance(layer, Embedding):
            module: nn.Module = nn.Embedding(layer.vocab, layer.hidden)
        elif isinstance(layer, Block):
            module = Share(layer, tp)
        else:
            module = nn.Sequential(nn.RMSNorm(layer.hidden), nn.Linear(layer.hidden, layer.vocab // tp, bias=False))
        return module.to(device=device, dtype=dtype)

    def build_split_block(self, index: int, mesh: DeviceMesh, device: torch.device) -> nn.Module:
        layer = self.model.layers[index]
        assert isinstance(layer, Block)
        return Split(Share(layer, mesh.size()), mesh).to(device)

    def build_fully_sharded_block(self, index: int, device: torch.device) -> nn.Module:
        block = self.build_layer(index, 1, device, torch.float32)
        fully_shard(block)
        return block

    def example_input(
        self, index: int, micro_batch: int, seq_len: int, device: torch.device, dtype: torch.dtype
    ) -> Tensor:
        if index == 0:
            return torch.randint(self.model.vocab, (micro_batch, seq_len), device=device)
        return torch.randn(micro_batch, seq_len, self.model.hidden, device=device, dtype=dtype)

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(output.flatten(0, 1).float(), target.flatten())
