"""Host time: launching kernels costs the CPU time that hides behind the device only where the device is slower."""

from __future__ import annotations

from costmodel.price import PassPrice, StepPrice
from costmodel.setting import LayerView, Setting
from costmodel.spec import DenseBlock, Source

TERM = "launching kernels"
STEP_TERM = "step overhead"

SOFTNESS = 6
"""Exponent of the soft maximum of device and host time; published launch-bound runs bend this sharply."""


def price(view: LayerView, device_forward_s: float, device_backward_s: float) -> PassPrice:
    """What launching adds to a pass of `device_*_s`: (device^6 + host^6)^(1/6) - device."""
    launch_s = view.setting.stack.launch_s_per_layer if isinstance(view.layer, DenseBlock) else 0.0
    return PassPrice(
        TERM,
        soft_maximum(device_forward_s, launch_s) - device_forward_s,
        soft_maximum(device_backward_s, launch_s) - device_backward_s,
        Source.ASSUMED,
    )


def per_step(setting: Setting) -> StepPrice:
    """Time per step outside passes, communication and optimizer."""
    return StepPrice(STEP_TERM, Source.ASSUMED, after_s=setting.stack.step_overhead_s)


def soft_maximum(a: float, b: float) -> float:
    """(a^6 + b^6)^(1/6): a little more than the larger where both are near."""
    larger = max(a, b)
    return larger * ((a / larger) ** SOFTNESS + (b / larger) ** SOFTNESS) ** (1 / SOFTNESS) if larger > 0 else 0.0
