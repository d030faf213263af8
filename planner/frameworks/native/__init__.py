"""The project's own executor on torch.distributed: runs every plan that its parts allow, on CUDA or CPU ranks."""

from __future__ import annotations

from costmodel.spec import DeviceKind, Recompute, Schedule
from planner.frameworks.framework import Defaults, Framework, RecomputeFreedom
from planner.frameworks.native.rules import ARCHITECTURES, PRECISIONS, RULES, SCHEDULES, TITLE, ZERO_STAGES
from planner.frameworks.native.write import VERSION, write

NATIVE = Framework(
    name="native",
    title=TITLE,
    version=VERSION,
    stacks={DeviceKind.CPU: "native-cpu", DeviceKind.CUDA: "native-cuda"},
    rules=RULES,
    zero_stages=ZERO_STAGES,
    schedules=SCHEDULES,
    recompute_freedom=RecomputeFreedom.EACH_LAYER,
    defaults=Defaults(zero=0, zero_with_pipeline=0, schedule=Schedule.ONE_F_ONE_B, recompute=Recompute.NONE),
    precisions=PRECISIONS,
    trains=ARCHITECTURES,
    check_config=lambda *_: None,
    write=write,
)
