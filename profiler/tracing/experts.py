"""How many parameters of a block one token meets, where the block is a mixture of experts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch import nn

from profiler.tracing.recorder import Work

EXPERTS = re.compile(r"(?:^|[._])(?:experts?|moe)(?:[._]|$)", re.IGNORECASE)
SHARED = re.compile(r"(?:^|[._])shared(?:[._]|$)", re.IGNORECASE)
"""An expert that every token meets."""


def active_params(modules: Sequence[nn.Module], own: Sequence[nn.Parameter], work: Work, num_tokens: int) -> int:
    """Of the parameters `own` of `modules`, those that one token meets in a pass over `num_tokens` tokens.

    A grouped multiplication tells to how many experts each token goes. Weights of experts are stacks of matrices, one
    for each expert, in a module called so; a matrix beside such a stack holds one bias for each. Without a grouped
    multiplication all are counted; see `is_unclear`.
    """
    total = sum(weight.numel() for weight in own)
    if work.experts is None:
        return total
    num_experts, rows = work.experts
    ids = {id(weight) for weight in own}
    rows_of_experts = [
        (name.rpartition(".")[0], weight)
        for name, weight in _of_experts(modules)
        if weight.dim() > 1 and weight.shape[0] == num_experts
    ]
    with_stacks = {module for module, weight in rows_of_experts if weight.dim() > 2}
    routed = sum(weight.numel() for module, weight in rows_of_experts if id(weight) in ids and module in with_stacks)
    return total - round(routed * (1 - rows / num_tokens / num_experts))


def is_unclear(modules: Sequence[nn.Module], work: Work) -> bool:
    """Whether `modules` hold experts, but nothing told how many of them a token meets."""
    if work.experts is not None:
        return False
    return any(weight.dim() > 2 for _, weight in _of_experts(modules)) or any(
        isinstance(part, nn.ModuleList) and len(part) > 1 and is_routed(name)
        for module in modules
        for name, part in module.named_modules()
    )


def _of_experts(modules: Sequence[nn.Module]) -> list[tuple[str, nn.Parameter]]:
    named = {id(weight): (name, weight) for module in modules for name, weight in module.named_parameters()}
    return [(name, weight) for name, weight in named.values() if is_routed(name)]


def is_routed(name: str) -> bool:
    """Whether the path to a parameter or module goes through experts that not every token meets."""
    return EXPERTS.search(name) is not None and not SHARED.search(name)
