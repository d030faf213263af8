"""Dispatch of sharded tensors: host time that tensor parallelism adds to every pass of a block."""

from __future__ import annotations

from costmodel.price import PassPrice
from costmodel.setting import LayerView, Setting
from costmodel.spec import Block, DeviceKind, Source
from costmodel.terms.host import device_time_s, launching_s, soft_maximum

TERM = "dispatch of sharded tensors"


def price(view: LayerView, compute_forward_s: float, compute_backward_s: float, compute_repeated_s: float) -> PassPrice:
    """What dispatch adds to passes of `compute_*_s`: as the profile timed it, else a constant of the stack.

    `compute_repeated_s` is the part of the forward pass that recomputation repeats; all of its dispatch is repeated.

    Where host and compute share the cores nothing hides it. A GPU works on while the host dispatches: there only as
    much shows as the soft maximum of compute and host time grows by.
    """
    constant_s = view.setting.stack.tensor_dispatch_s_per_pass
    if view.mesh.tp == 1 or constant_s is None or not isinstance(view.layer, Block):
        return PassPrice(TERM, 0.0, 0.0, Source.ANALYTIC)
    forward_s, backward_s, source = constant_s, constant_s, Source.ASSUMED
    profile = view.setting.profile_of_device
    if profile is not None and profile.dispatch is not None:
        # Timed as a difference, at another size than the block's.
        forward_s, backward_s, source = (
            profile.dispatch.forward.median_s,
            profile.dispatch.backward.median_s,
            Source.FITTED,
        )
    if view.setting.cluster.device.kind is DeviceKind.CUDA and max(forward_s, backward_s) > 0:
        launch_s = launching_s(view)
        return PassPrice(
            TERM,
            _shown_s(compute_forward_s, launch_s, forward_s),
            _shown_s(compute_backward_s, launch_s, backward_s),
            source,
            _shown_s(compute_repeated_s, launch_s, forward_s),
        )
    return PassPrice(TERM, forward_s, backward_s, source)


def is_left_out(setting: Setting, tp: int) -> bool:
    """Whether there is dispatch to pay for, but neither a profile nor the stack says how much."""
    profile = setting.profile_of_device
    timed = profile is not None and profile.dispatch is not None
    return tp > 1 and setting.stack.tensor_dispatch_s_per_pass == 0 and not timed


def _shown_s(compute_s: float, launch_s: float, dispatch_s: float) -> float:
    """What dispatch adds to a pass that is already the soft maximum of its device time and its launching."""
    return soft_maximum(device_time_s(compute_s, launch_s), launch_s + dispatch_s) - compute_s
