"""What of a user's layers can be priced: weights in a format that is trained, all of them trained, and their gradients.

Everything else (quantised, complex or frozen weights, a layer that cuts the gradient) would be counted as if it were
trained like the rest, which it is not, so it is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from costmodel.errors import BadInputError
from profiler.tracing.failures import a_kind

FORMATS = (torch.float32, torch.float16, torch.bfloat16)
"""Of weights that are trained."""
PACKED = re.compile(r"^q?weight$|^qzeros$|packed|quant|absmax|zero_points?$|scales?$|^zeros$")
"""Names of buffers that hold quantised weights, in formats other than `FORMATS`; masks, positions and tables of an
index have other names, whatever their format."""
FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)
"""Formats that nothing else is kept in."""


def refuse_untrainable(layers: Sequence[nn.Module], where: str) -> None:
    """Raise BadInputError that names the first weight of `layers` that has no price as a trained one."""
    for index, layer in enumerate(layers):
        at = f"layer {index} ({type(layer).__name__})"
        for name, weight in layer.named_parameters():
            fault = _fault(weight)
            if fault:
                raise BadInputError(f"{where}: parameter {name} of {at} {fault}")
        for name, buffer in layer.named_buffers():
            if _is_packed(name.rpartition(".")[2], buffer):
                raise BadInputError(
                    f"{where}: buffer {name} of {at} holds {_format(buffer)}, as quantised weights do, which are not "
                    "trained; give the layer with the weights that are"
                )
    if not any(True for layer in layers for _ in layer.parameters()):
        raise BadInputError(f"{where}: its layers have no parameters, so that there is nothing to train")


def refuse_output(output: object, where: str, *, is_last: bool) -> Tensor:
    """What a layer returned, if it is one tensor through which the next one can be trained; BadInputError else."""
    if not isinstance(output, Tensor):
        raise BadInputError(f"{where}: returned {a_kind(output)}, but must return one tensor")
    shape = list(output.shape)
    if not output.numel():
        raise BadInputError(f"{where}: returned a tensor of shape {shape}, which holds nothing; give sizes above 0")
    if not output.is_floating_point():
        raise BadInputError(
            f"{where}: returned {_format(output)}, through which no gradient passes; return floating-point numbers"
        )
    if not output.requires_grad:
        raise BadInputError(
            f"{where}: returned numbers that are cut off from its weights and input (detach, no_grad), so that "
            "they cannot be trained; let the gradient pass"
        )
    if not is_last and output.dim() < 2:
        raise BadInputError(
            f"{where}: returned a tensor of shape {shape}, but the next layer needs at least batch and width; only the "
            "last layer may return a number"
        )
    return output


def _is_packed(name: str, buffer: Tensor) -> bool:
    if buffer.dtype in FP8:
        return True
    return buffer.dtype not in (*FORMATS, torch.bool) and PACKED.search(name) is not None


def _fault(weight: nn.Parameter) -> str:
    """What is wrong with a weight, and what would do; empty where nothing is."""
    if is_lazy(weight):
        return "has no shape; say the sizes of the layer where it is built"
    if weight.dtype not in FORMATS:
        known = ", ".join(str(dtype).removeprefix("torch.") for dtype in FORMATS)
        return f"is of {_format(weight)}, but weights are trained in {known}; give the layer as it is trained"
    if not weight.numel():
        return f"has shape {list(weight.shape)}, which holds nothing; give sizes above 0"
    if not weight.requires_grad:
        return (
            "is frozen (requires_grad is False), but training with frozen weights is not planned by this version; set "
            "requires_grad, or leave the layer out"
        )
    return ""


def _format(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
