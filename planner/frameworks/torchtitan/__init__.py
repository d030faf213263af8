"""torchtitan: PyTorch's own trainer; a configuration is a Python module."""

from __future__ import annotations

from costmodel.spec import DeviceKind, Recompute, Schedule
from planner.frameworks.details import read_details
from planner.frameworks.framework import Defaults, Framework, RecomputeFreedom
from planner.frameworks.torchtitan.rules import ARCHITECTURES, PRECISIONS, RULES, SCHEDULES, TITLE, ZERO_STAGES
from planner.frameworks.torchtitan.write import VERSION, write

TORCHTITAN = Framework(
    name="torchtitan",
    title=TITLE,
    version=VERSION,
    stacks={DeviceKind.CUDA: "torchtitan"},
    rules=RULES,
    zero_stages=ZERO_STAGES,
    schedules=SCHEDULES,
    recompute_freedom=RecomputeFreedom.ALL_OR_NONE,
    # `data_parallel_shard_degree` is -1 (all ranks) and resharding after forward is on without a pipeline, off with
    # one. Its selective recompute is not a choice that a plan has; none is nearest to it in time.
    defaults=Defaults(zero=3, zero_with_pipeline=1, schedule=Schedule.ONE_F_ONE_B, recompute=Recompute.NONE),
    precisions=PRECISIONS,
    trains=ARCHITECTURES,
    check_config=read_details,
    write=write,
)
