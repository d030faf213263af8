"""A plan file for tests in which prediction and provenance play no part: plausible, and the same for every plan."""

from __future__ import annotations

import math
from typing import Any

from costmodel.model_flop import model_flop_per_step
from costmodel.spec import (
    ClusterSpec,
    Device,
    MemoryItem,
    ModelSpec,
    Plan,
    PlanFile,
    Prediction,
    SoftwareStack,
    Source,
    StageMemory,
    TimeTerm,
    Verdict,
    Workload,
)

SIZE_BYTES = 1 << 20
"""Predicted peak of every stage."""


def even_cut(num_layers: int, pp: int) -> tuple[int, ...]:
    """Layers of each stage; the first stages take what does not divide."""
    share, rest = divmod(num_layers, pp)
    return tuple(share + (stage < rest) for stage in range(pp))


def stand_in_plan_file(
    plan: Plan,
    *,
    hf_config: dict[str, Any],
    model: ModelSpec,
    workload: Workload,
    cluster: ClusterSpec,
    stack: SoftwareStack,
) -> PlanFile:
    """What `check` would write, with a prediction of one second that any computer keeps."""
    return PlanFile(
        hf_config=hf_config,
        model=model,
        workload=workload,
        cluster=cluster,
        stack=stack,
        profile=None,
        plan=plan,
        prediction=_prediction(plan, workload, model, cluster.device),
        certificate=None,
        input_hashes={},
        versions={},
        created="2026-01-01T00:00:00Z",
    )


def _prediction(plan: Plan, workload: Workload, model: ModelSpec, device: Device) -> Prediction:
    # A reader checks rates against the time of a step, which is one second, where the device has the precision.
    peak_flop = device.peak_flop_per_s.get(workload.precision, math.inf) * plan.num_ranks
    item = MemoryItem(
        name="weights",
        steady_bytes=SIZE_BYTES,
        first_step_bytes=SIZE_BYTES,
        checkpoint_bytes=SIZE_BYTES,
        source=Source.ASSUMED,
    )
    return Prediction(
        plan_id=plan.plan_id,
        step_time_s=1.0,
        step_time_low_s=1e-6,
        step_time_high_s=1e6,
        tokens_per_s_per_gpu=workload.tokens_per_step / plan.num_ranks,
        mfu_frac=model_flop_per_step(model, workload) / peak_flop,
        bubble_frac=0.0,
        terms=(TimeTerm(name="compute", time_s=1.0, source=Source.ASSUMED),),
        stages=tuple(StageMemory(stage=stage, items=(item,)) for stage in range(plan.pp)),
        peak_memory_bytes=SIZE_BYTES,
        peak_memory_low_bytes=SIZE_BYTES,
        peak_memory_high_bytes=SIZE_BYTES,
        peak_stage=0,
        memory_limit_bytes=device.memory_limit_bytes,
        verdict=Verdict.FITS,
        source=Source.ASSUMED,
        interval_note="wide enough for any computer",
    )
