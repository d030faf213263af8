"""Turns a module built on the meta device into one of fake CPU tensors: shapes, types and devices, but no memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode


def fake_mode() -> FakeTensorMode:
    """The mode under which fake tensors are made and computed with.

    Small tensors of constants that code brings along (a list of sizes, a scale) are taken as they are.
    """
    return FakeTensorMode(allow_non_fake_inputs=True)


def to_fake(module: nn.Module) -> None:
    """Replace every parameter, buffer and tensor attribute of `module` by a fake one on the CPU.

    Tensors that are one stay one, so that shared weights are still shared. Call it under `fake_mode`.
    """
    made: dict[int, Tensor] = {}

    def fake(tensor: Tensor) -> Tensor:
        if id(tensor) not in made:
            empty = torch.empty_like(tensor, device="cpu")
            if isinstance(tensor, nn.Parameter):
                made[id(tensor)] = nn.Parameter(empty, requires_grad=tensor.requires_grad)
            else:
                made[id(tensor)] = empty
        return made[id(tensor)]

    for part in module.modules():
        stores: tuple[dict[str, Any], ...] = (part._parameters, part._buffers, vars(part))
        for store in stores:
            store.update({name: fake(value) for name, value in store.items() if isinstance(value, Tensor)})


def tensors_in(value: object) -> Iterator[Tensor]:
    """Every tensor in nested tuples, lists and dicts, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
