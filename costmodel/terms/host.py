"""Host time: launching kernels costs the CPU time that hides behind the device only where the device is slower."""

from __future__ import annotations

from costmodel.price import PassPrice, StepPrice
from costmodel.setting import LayerView, Setting
from costmodel.spec import Block, Source, Traced

TERM = "launching kernels"
STEP_TERM = "step overhead"

SOFTNESS = 6
"""Exponent of the soft maximum of device and host time; published launch-bound runs bend this sharply."""


def price(view: LayerView, device_forward_s: float, device_backward_s: float, device_repeated_s: float) -> PassPrice:
    """What launching adds to passes of `device_*_s`: (device^6 + host^6)^(1/6) - device.

    `device_repeated_s` is the part of the forward pass that recomputation repeats; all of its launching is repeated.
    """
    launch_s = launching_s(view)
    return PassPrice(
        TERM,
        soft_maximum(device_forward_s, launch_s) - device_forward_s,
        soft_maximum(device_backward_s, launch_s) - device_backward_s,
        Source.ASSUMED,
        soft_maximum(device_repeated_s, launch_s) - device_repeated_s,
    )


def launching_s(view: LayerView) -> float:
    """Host time of a block's pass: the stack's is that of attention and a feed-forward network, half of it for each."""
    match view.layer:
        case Block():
            return view.setting.stack.launch_s_per_layer * len(view.layer.parts) / 2
        case Traced():
            return view.setting.stack.launch_s_per_layer
    return 0.0


def per_step(setting: Setting) -> StepPrice:
    """Time per step outside passes, communication and optimizer."""
    return StepPrice(STEP_TERM, Source.ASSUMED, after_s=setting.stack.step_overhead_s)


def soft_maximum(a: float, b: float) -> float:
    """(a^6 + b^6)^(1/6): a little more than the larger where both are near."""
    larger = max(a, b)
    return larger * ((a / larger) ** SOFTNESS + (b / larger) ** SOFTNESS) ** (1 / SOFTNESS) if larger > 0 else 0.0


def device_time_s(pass_s: float, launch_s: float) -> float:
    """The device time whose soft maximum with `launch_s` is `pass_s`; 0 where launching alone takes as long."""
    if pass_s <= launch_s:
        return 0.0
    rest: float = 1 - (launch_s / pass_s) ** SOFTNESS
    return pass_s * float(rest ** (1 / SOFTNESS))
