"""Tries every plan of a tiny job: what the solver must equal, written from the meaning of the space alone.

No bound, no pruning, no order: each plan that the framework can express is predicted, one by one. Memory limits
change only which plans count, so one enumeration answers for every limit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from costmodel.feasibility import contradiction
from costmodel.layer_price import price_layers
from costmodel.predict import predict_priced
from costmodel.schedules import ONE_STAGE_A_RANK
from costmodel.setting import Mesh, Setting
from costmodel.spec import Plan, Recompute, Schedule
from planner.frameworks import registry
from planner.job import Job, Layout


@dataclass(frozen=True)
class Tried:
    """A plan that the framework can express, its step time and the bounds of its peak."""

    plan: Plan
    step_time_s: float
    peak_low_bytes: int
    peak_high_bytes: int


def try_all(job: Job, counts: Callable[[Plan], bool] = lambda _: True) -> list[Tried]:
    """Every expressible plan of `job` that `counts`, whether it fits or not; layers are priced once for all cuts of a
    mesh."""
    framework = registry.get(job.framework)
    setting = Setting(job.model, job.workload, job.cluster, job.stack, job.profile)
    tried, prices = [], {}
    for plan in filter(counts, every_plan(job)):
        if framework.refusal(job.model, job.workload, plan) is None and contradiction(setting, plan) is None:
            mesh = Mesh.of(plan, job.workload)
            if mesh not in prices:
                prices[mesh] = price_layers(setting, mesh)
            prediction = predict_priced(setting, plan, prices[mesh])
            bounds_bytes = prediction.peak_memory_low_bytes, prediction.peak_memory_high_bytes
            tried.append(Tried(plan, prediction.step_time_s, *bounds_bytes))
    return tried


def every_plan(job: Job) -> Iterator[Plan]:
    """All degrees that multiply to the devices, ZeRO stages, micro-batches, schedules, cuts and sets of recomputed
    blocks. One data-parallel rank has nothing to shard, and one stage no schedule: these are tried once."""
    devices, layers = job.cluster.num_devices, len(job.model.layers)
    for tp, pp, dp in itertools.product(range(1, devices + 1), repeat=3):
        if tp * pp * dp != devices or pp > layers:
            continue
        cuts = list(every_cut(layers, pp))
        batch = range(1, job.workload.global_batch + 1)
        zero_stages = range(4) if dp > 1 else (0,)
        schedules = list(ONE_STAGE_A_RANK) if pp > 1 else [Schedule.ONE_F_ONE_B]
        for zero, micro_batch, schedule in itertools.product(zero_stages, batch, schedules):
            if job.workload.global_batch % (micro_batch * dp):
                continue
            for cut, modes in itertools.product(cuts, every_recompute(job.model.num_layers)):
                yield Plan(
                    framework=job.framework,
                    tp=tp,
                    pp=pp,
                    dp=dp,
                    zero=zero,
                    micro_batch=micro_batch,
                    schedule=schedule,
                    cut=cut,
                    recompute_layers=modes,
                )


def every_cut(num_layers: int, num_stages: int) -> Iterator[tuple[int, ...]]:
    """All ways to write `num_layers` as a sum of `num_stages` positive numbers, order counted."""
    for borders in itertools.combinations(range(1, num_layers), num_stages - 1):
        yield tuple(stop - start for start, stop in itertools.pairwise((0, *borders, num_layers)))


def every_recompute(num_blocks: int) -> Iterator[tuple[Recompute, ...]]:
    """All sets of recomputed blocks; embedding and head never are."""
    for modes in itertools.product(Recompute, repeat=num_blocks):
        yield (Recompute.NONE, *modes, Recompute.NONE)


def fastest(
    tried: Iterable[Tried],
    limit_bytes: int,
    counts: Callable[[Plan], bool] = lambda _: True,
    *,
    allow_tight: bool = False,
) -> Tried | None:
    """The fastest plan that surely fits into `limit_bytes` (or may, if `allow_tight`) and that `counts`; None where
    there is none."""

    def fits(one: Tried) -> bool:
        return (one.peak_low_bytes if allow_tight else one.peak_high_bytes) <= limit_bytes

    fitting = (one for one in tried if fits(one) and counts(one.plan))
    return min(fitting, key=lambda one: one.step_time_s, default=None)


def obeys(job: Job, fixed: Layout, plan: Plan) -> bool:
    """Whether `plan` is one of those that the fixed choices leave; a choice without effect on it is obeyed if the
    framework can express it."""
    for name, value in fixed.fixed().items():
        if name == "schedule" and plan.pp == 1:
            continue
        if name == "zero" and plan.dp == 1:
            named = plan.model_copy(update={"zero": value})
            if registry.get(job.framework).refusal(job.model, job.workload, named) is not None:
                return False
        elif getattr(plan, name) != value:
            return False
    return True
