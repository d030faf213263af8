"""The space of meshes: degrees, ZeRO stage, micro-batch and schedule that multiply out, before any rule."""

from __future__ import annotations

from collections.abc import Iterator

from costmodel.divisors import divisors
from costmodel.feasibility import MAX_PASSES
from costmodel.setting import Mesh
from costmodel.spec import ModelSpec, Plan, Recompute, Schedule
from planner.frameworks.framework import Framework
from planner.job import Job, Layout

SPACE = (
    "all of tp x pp x dp = GPUs, ZeRO stage, micro-batch that divides the batch of a rank, schedule, "
    "every stage cut and every recompute choice per layer, as far as {framework} can express them, with at most "
    f"{MAX_PASSES:,} micro-batches x stages a step"
)


def meshes(job: Job, framework: Framework, layout: Layout) -> Iterator[Mesh]:
    """Every mesh on all devices of the cluster that agrees with the fixed choices of `layout`.

    Choices without effect are made once: one data-parallel rank has no ZeRO stage but 0, and one stage no schedule,
    unless the user fixed them.
    """
    batch = job.workload.global_batch
    for tp in divisors(job.cluster.num_devices):
        for pp in divisors(job.cluster.num_devices // tp):
            dp = job.cluster.num_devices // tp // pp
            if not _agrees(layout, tp=tp, pp=pp, dp=dp) or pp > len(job.model.layers) or batch % dp:
                continue
            for micro_batch in divisors(batch // dp):
                for zero in framework.zero_stages if dp > 1 else (layout.zero or 0,):
                    for schedule in framework.schedules if pp > 1 else framework.schedules[:1]:
                        if _agrees(layout, micro_batch=micro_batch, zero=zero, schedule=schedule) or (
                            pp == 1 and _agrees(layout, micro_batch=micro_batch, zero=zero)
                        ):
                            yield Mesh(
                                tp=tp,
                                pp=pp,
                                dp=dp,
                                zero=zero,
                                micro_batch=micro_batch,
                                num_microbatches=batch // dp // micro_batch,
                                schedule=layout.schedule or schedule,
                            )


def even_cut(model: ModelSpec, pp: int) -> tuple[int, ...]:
    """Layers per stage when blocks are dealt out evenly: embedding first, head last, odd blocks from the second stage
    on, since the first keeps the most micro-batches in flight. Raises ValueError where there are too few layers."""
    total = len(model.layers)
    if pp > total:
        raise ValueError(f"{pp} stages for {total} layers")
    if pp == 1:
        return (total,)
    if pp > model.num_inner_layers:
        return (1,) * (pp - 1) + (total - pp + 1,)
    each, rest = divmod(model.num_inner_layers, pp)
    blocks = [each + (1 if 1 <= stage <= rest else 0) for stage in range(pp)]
    blocks[0] += 1
    blocks[-1] += 1
    return tuple(blocks)


def plan_of(framework: str, mesh: Mesh, cut: tuple[int, ...], recompute_layers: tuple[Recompute, ...]) -> Plan:
    """The plan that fills `mesh` with a cut and recompute modes."""
    return Plan(
        framework=framework,
        tp=mesh.tp,
        pp=mesh.pp,
        dp=mesh.dp,
        zero=mesh.zero,
        micro_batch=mesh.micro_batch,
        schedule=mesh.schedule,
        cut=cut,
        recompute_layers=recompute_layers,
    )


def even_plan(model: ModelSpec, framework: str, mesh: Mesh, recompute: Recompute) -> Plan:
    """The plan with an even cut and one recompute mode for all layers but the first and the last."""
    modes = tuple(
        Recompute.NONE if layer in (0, len(model.layers) - 1) else recompute for layer in range(len(model.layers))
    )
    return plan_of(framework, mesh, even_cut(model, mesh.pp), modes)


def _agrees(layout: Layout, **choices: int | Schedule) -> bool:
    return all(getattr(layout, name) in (None, value) for name, value in choices.items())
