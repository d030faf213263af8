"""Times one AdamW step over the parameters of a rank, for a few numbers of parameters."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from costmodel.spec import ModelSpec, OptimizerSample
from profiler.rounds import Times, spread_of_ranks
from profiler.stopwatch import stopwatch

SHARES = (1, 4, 16)
"""The whole model, and what is left of it on a rank after splitting it 4 and 16 ways."""
BYTES_PER_PARAM = 16
"""Parameter, gradient and two moments in four bytes each: what AdamW touches."""


def parameter_counts(model: ModelSpec, memory_bytes: int) -> list[int]:
    """Numbers of parameters to time, at most what `memory_bytes` hold; the smallest first."""
    whole = min(model.params_total, memory_bytes // BYTES_PER_PARAM)
    return sorted({max(1, whole // share) for share in SHARES})


class OptimizerTimer:
    """One AdamW for each number of parameters on one rank, ready to be timed in rounds.

    The parameters are in four bytes, as training keeps them, and cut into tensors of hidden x hidden numbers, the
    size of a projection of attention.
    """

    def __init__(self, counts: Sequence[int], hidden: int, device: torch.device) -> None:
        self._optimizers = [_adamw(count, hidden * hidden, device) for count in counts]
        self._watch = stopwatch(device)

    def visit(self) -> list[float]:
        """One round: seconds of one step, one per number of parameters."""
        self._watch.mark()
        for optimizer in self._optimizers:
            optimizer.step()
            self._watch.mark()
        return self._watch.read()


def load_optimizer() -> None:
    """Step once over one number: torch imports much on the first step, which forked ranks then inherit."""
    _adamw(1, 1, torch.device("cpu")).step()


def _adamw(num_params: int, tensor_size: int, device: torch.device) -> torch.optim.AdamW:
    whole, rest = divmod(num_params, tensor_size)
    parameters = [
        torch.nn.Parameter(torch.randn(size, device=device)) for size in [tensor_size] * whole + [rest] * (rest > 0)
    ]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    return torch.optim.AdamW(parameters, lr=1e-4, fused=True)


def optimizer_samples(counts: Sequence[int], times_by_rank: Sequence[Times]) -> tuple[OptimizerSample, ...]:
    """Samples of all counts from the rounds of all ranks, each of shape (rounds, counts)."""
    return tuple(
        OptimizerSample(num_params=count, time=spread_of_ranks([times[:, item] for times in times_by_rank]))
        for item, count in enumerate(counts)
    )
