"""Megatron-LM: NVIDIA's trainer on Megatron-Core, told everything by command-line arguments."""

from __future__ import annotations

from costmodel.spec import DeviceKind, Recompute, Schedule
from planner.frameworks.framework import Defaults, Framework, RecomputeFreedom
from planner.frameworks.megatron.rules import ARCHITECTURES, PRECISIONS, RULES, SCHEDULES, TITLE, ZERO_STAGES
from planner.frameworks.megatron.write import VERSION, check_config, write

MEGATRON = Framework(
    name="megatron",
    title=TITLE,
    version=VERSION,
    stacks={DeviceKind.CUDA: "megatron-core"},
    rules=RULES,
    zero_stages=ZERO_STAGES,
    schedules=SCHEDULES,
    recompute_freedom=RecomputeFreedom.SAME_COUNT_PER_STAGE,
    defaults=Defaults(zero=0, zero_with_pipeline=0, schedule=Schedule.ONE_F_ONE_B, recompute=Recompute.NONE),
    precisions=PRECISIONS,
    trains=ARCHITECTURES,
    check_config=check_config,
    write=write,
)
