"""Finds the blocks of a model, and says which of them do the same work."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

Signature = tuple[object, ...]


def stacks(model: nn.Module) -> dict[str, nn.ModuleList]:
    """The lists of modules in `model` that stand in no other list, by name: those with parameters."""
    found: dict[str, nn.ModuleList] = {}
    for name, module in model.named_modules():
        inside = any(name.startswith(f"{outer}.") for outer in found)
        if isinstance(module, nn.ModuleList) and not inside and any(True for _ in module.parameters()):
            found[name] = module
    return found


def signature(module: nn.Module) -> Signature:
    """Equal for modules that differ in nothing but the values of their weights and their place in the stack."""
    return tuple(_parts(module))


def _parts(module: nn.Module) -> Iterator[object]:
    for name, part in module.named_modules():
        settings = sorted(
            (key, repr(value))
            for key, value in vars(part).items()
            if isinstance(value, bool | int | float | str | type(None)) and not _is_place(key)
        )
        weights = [(key, tuple(weight.shape), weight.dtype) for key, weight in part.named_parameters(recurse=False)]
        yield name, type(part), tuple(settings), tuple(weights)


def _is_place(attribute: str) -> bool:
    """Whether an attribute numbers a block (`layer_idx`, `layer_id`, `layer_number`)."""
    return attribute.startswith(("layer", "block")) and attribute.rpartition("_")[2] in {"idx", "id", "index", "number"}
