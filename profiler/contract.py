"""What the profiler is asked for, and the two things it is handed: layers to time and a way to start ranks.

The profiler knows no model code and no process launcher. Whoever calls `profiler.measure.measure` hands it both, so
that what is timed is exactly what will be trained, started in exactly the way it will be trained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from costmodel.errors import BadInputError
from costmodel.spec import Device, ModelSpec, Precision

T = TypeVar("T")

DTYPES = {Precision.FP32: torch.float32, Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}
"""Number format of weights and activations while a layer is timed."""


class LayerFactory(Protocol):
    """Builds the layers of one model: index 0 is the embedding, 1..N the blocks, N + 1 the head."""

    def build_layer(self, index: int, tp: int, device: torch.device, dtype: torch.dtype) -> nn.Module:
        """The share of layer `index` that one of `tp` ranks holds, without communication; a tensor in, a tensor out.

        Embedding: token ids (b, s) to hidden states (b, s, h). Block: hidden states to hidden states. Head: hidden
        states to logits (b, s, vocab / tp).
        """
        ...

    def build_split_block(self, index: int, mesh: DeviceMesh, device: torch.device) -> nn.Module:
        """Layer `index`, a block, split over the one-dimensional `mesh` in fp32, with its communication.

        A rank's slice of the sequence (b, s / tp, h) to the same slice of the output.
        """
        ...

    def build_fully_sharded_block(self, index: int, device: torch.device) -> nn.Module:
        """Layer `index`, a block, sharded over all ranks of the default group as ZeRO-3 does, in fp32.

        It gathers its weights before each pass and scatters its gradients after backward; (b, s, h) to (b, s, h).
        """
        ...

    def example_input(
        self, index: int, micro_batch: int, seq_len: int, device: torch.device, dtype: torch.dtype
    ) -> Tensor:
        """An input of layer `index` for `micro_batch` sequences of `seq_len` tokens."""
        ...

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """The scalar training loss of logits (b, s, v) and token ids (b, s) below v."""
        ...


class RankLauncher(Protocol):
    """Runs a function on ranks of this computer that share a process group (nccl on CUDA, gloo on CPU)."""

    def __call__(
        self,
        fn: Callable[..., T],
        num_ranks: int,
        *args: Any,
        timeout_s: float,
        device: str,
        on_message: Callable[[int, Any], None] | None,
    ) -> list[T]:
        """Results of `fn(*args)` in rank order; `on_message(rank, value)` hears what the ranks send meanwhile."""
        ...


@dataclass(frozen=True)
class ProfileRequest:
    """What to measure, and how long it may take."""

    hf_config: Mapping[str, Any]
    """The raw model config, kept in the profile."""
    model: ModelSpec
    device: Literal["cpu", "cuda"]
    num_ranks: int
    """Ranks on this computer, all measured at the same time."""
    micro_batches: tuple[int, ...]
    """Sequences in a micro-batch, in (0, inf)."""
    seq_len: int
    precision: Precision
    tp_degrees: tuple[int, ...]
    """Each divides heads, key-value heads, feed-forward width, vocabulary and `num_ranks`."""
    budget_s: float = 20.0
    """Time for the repeated measurements. A slow model takes longer: every figure rests on at least 5 rounds."""
    published: Device | None = None
    """Published figures of the CUDA device, where they are known; its peak is then the published one."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions to note in the profile beside those of Python and torch."""

    def check(self) -> None:
        """Raises BadInputError for the first value that cannot be measured."""
        if self.device not in ("cpu", "cuda"):
            raise BadInputError(f"device is {self.device!r}; it must be cpu or cuda")
        if self.num_ranks < 1:
            raise BadInputError(f"num_ranks is {self.num_ranks}; at least 1 rank is needed")
        if not self.budget_s > 0:
            raise BadInputError(f"budget_s is {self.budget_s:g}; the time for measuring must be above 0 s")
        if not _distinct_counts(self.micro_batches):
            raise BadInputError(f"micro_batches is {self.micro_batches}; give at least one, each once and 1 or more")
        self._check_seq_len()
        if not self.tp_degrees:
            raise BadInputError("tp_degrees is empty; give at least one tensor-parallel degree, e.g. 1")
        if len(set(self.tp_degrees)) < len(self.tp_degrees):
            raise BadInputError(f"tp_degrees is {self.tp_degrees}; give each degree once")
        for tp in self.tp_degrees:
            self._check_tp(tp)

    def _check_seq_len(self) -> None:
        longest = self.model.max_seq_len
        if self.seq_len < 1:
            raise BadInputError(f"seq_len is {self.seq_len}; at least 1 token is needed")
        if longest is not None and self.seq_len > longest:
            raise BadInputError(f"seq_len is {self.seq_len}, but {self.model.name} takes at most {longest} tokens")

    def _check_tp(self, tp: int) -> None:
        if tp < 1 or self.num_ranks % tp:
            raise BadInputError(f"tp degree {tp} does not divide the {self.num_ranks} ranks; give a divisor of them")
        sizes = [("vocab_size", self.model.vocab or 1)]
        sizes += [(split.field, split.size) for splits in self.model.splits.values() for split in splits]
        for name, size in sizes:
            if size % tp:
                raise BadInputError(
                    f"tp degree {tp} does not divide {name} {size} of {self.model.name}; give a divisor of it"
                )


def _distinct_counts(counts: tuple[int, ...]) -> bool:
    """Whether there is at least one, each is at least 1 and none stands twice."""
    return bool(counts) and min(counts) >= 1 and len(set(counts)) == len(counts)
