"""predict(): step time and memory of a plan, itemised, with bounds and sources. A pure function.

It prices each distinct layer (`layer_price`), adds layers up to stages (`stage_price`), runs the schedule's action
list on the stage times (`schedules.simulate`), and itemises memory per stage (`memory`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from costmodel import uncertainty
from costmodel.feasibility import contradiction
from costmodel.layer_price import price_layers
from costmodel.memory import StageView, stage_memory
from costmodel.model_flop import model_flop_per_step
from costmodel.price import LayerPrice
from costmodel.schedules import Timeline, order_of, passes_of, run_passes, simulate
from costmodel.setting import Mesh, Setting
from costmodel.spec import (
    ClusterSpec,
    Infeasible,
    ModelSpec,
    Plan,
    Prediction,
    Profile,
    SoftwareStack,
    Source,
    StageMemory,
    TimeTerm,
    Verdict,
    Workload,
)
from costmodel.stage_price import StagePrice, stage_price, together
from costmodel.terms import host
from costmodel.terms.pipeline_transfer import transfer

WAIT_TERM = "pipeline wait"
"""Bubble and transfers: the time in which the deciding rank has nothing to do."""


def predict(
    model: ModelSpec,
    workload: Workload,
    cluster: ClusterSpec,
    stack: SoftwareStack,
    plan: Plan,
    profile: Profile | None = None,
) -> Prediction | Infeasible:
    """What `plan` costs, or why it cannot be. The same inputs give the same value.

    A plan that does not fit into memory is still priced; its `verdict` says so.
    """
    setting = Setting(model, workload, cluster, stack, profile)
    return contradiction(setting, plan) or predict_priced(setting, plan, price_layers(setting, Mesh.of(plan, workload)))


def timeline_of(
    model: ModelSpec,
    workload: Workload,
    cluster: ClusterSpec,
    stack: SoftwareStack,
    plan: Plan,
    profile: Profile | None = None,
) -> Timeline:
    """The pipeline timeline of a plan that can be priced; raises ValueError for another."""
    setting = Setting(model, workload, cluster, stack, profile)
    infeasible = contradiction(setting, plan)
    if infeasible is not None:
        raise ValueError(infeasible.sentence)
    mesh = Mesh.of(plan, workload)
    stages = _stage_prices(plan, price_layers(setting, mesh))
    order = order_of(mesh.schedule, mesh.pp, mesh.num_microbatches, mesh.vpp)
    return simulate(order, *_pass_times(setting, mesh, stages))


@dataclass(frozen=True)
class Step:
    """One simulated step: what each pipeline rank costs, and when it is done."""

    ranks: tuple[StagePrice, ...]
    """All stages of each rank together."""
    step_end_s: tuple[float, ...]
    """Per rank, after its gradients are reduced and its optimizer has stepped."""
    overhead_s: float
    """Of the step as a whole."""

    @property
    def time_s(self) -> float:
        """From the start of one step to the start of the next."""
        return max(self.step_end_s) + self.overhead_s

    @property
    def deciding_rank(self) -> int:
        """The pipeline rank that ends last."""
        return max(range(len(self.ranks)), key=lambda rank: self.step_end_s[rank])


def simulate_step(setting: Setting, plan: Plan, prices: Sequence[LayerPrice]) -> Step:
    """Run the plan's action list on the prices of its layers."""
    mesh = Mesh.of(plan, setting.workload)
    stages = _stage_prices(plan, prices)
    passes = passes_of(mesh.schedule, mesh.pp, mesh.num_microbatches, mesh.vpp)
    ends_s = run_passes(passes, *_pass_times(setting, mesh, stages)).ends_s
    ranks = tuple(together(stages[rank :: mesh.pp]) for rank in range(mesh.pp))
    step_end_s = tuple(
        max(ends_s[last] for last in passes.last_of_stage[rank :: mesh.pp]) + ranks[rank].after_s
        for rank in range(mesh.pp)
    )
    return Step(ranks, step_end_s, host.per_step(setting).after_s)


def _stage_prices(plan: Plan, prices: Sequence[LayerPrice]) -> tuple[StagePrice, ...]:
    return tuple(
        stage_price(prices[stage.start : stage.stop], plan.recompute_layers[stage.start : stage.stop])
        for stage in plan.stages
    )


def _pass_times(
    setting: Setting, mesh: Mesh, stages: Sequence[StagePrice]
) -> tuple[list[float], list[float], float, list[float]]:
    """What the simulation runs on: forward and backward by stage, a transfer, and when each rank is released."""
    return (
        [stage.forward_s for stage in stages],
        [stage.backward_s for stage in stages],
        transfer(setting, mesh).time_s,
        [sum(stage.before_s for stage in stages[rank :: mesh.pp]) for rank in range(mesh.pp)],
    )


def predict_priced(setting: Setting, plan: Plan, prices: Sequence[LayerPrice]) -> Prediction:
    """`predict` for a plan without contradictions whose layers are priced already."""
    workload, device = setting.workload, setting.cluster.device
    mesh = Mesh.of(plan, workload)
    step = simulate_step(setting, plan, prices)
    terms = _terms(setting, mesh, step)
    step_time_s = sum(term.time_s for term in terms)
    half_frac = uncertainty.time_frac(((term.time_s, term.source) for term in terms), setting.profile)
    stages = stage_memories(setting, mesh, plan, prices)
    peak_stage = max(stages, key=lambda stage: stage.peak_bytes)
    low_bytes, high_bytes = uncertainty.memory_bounds_bytes(peak_stage.peak_bytes)
    peak_flop_per_s = device.peak_in(workload.precision)
    return Prediction(
        plan_id=plan.plan_id,
        step_time_s=step_time_s,
        step_time_low_s=step_time_s * (1 - half_frac),
        step_time_high_s=step_time_s * (1 + half_frac),
        tokens_per_s_per_gpu=workload.tokens_per_step / step_time_s / plan.num_ranks,
        mfu_frac=model_flop_per_step(setting.model, workload) / (step_time_s * plan.num_ranks * peak_flop_per_s),
        bubble_frac=sum(term.time_s for term in terms if term.name == WAIT_TERM) / step_time_s,
        terms=terms,
        stages=stages,
        peak_memory_bytes=peak_stage.peak_bytes,
        peak_memory_low_bytes=low_bytes,
        peak_memory_high_bytes=high_bytes,
        peak_stage=peak_stage.stage,
        memory_limit_bytes=device.memory_limit_bytes,
        verdict=verdict(low_bytes, high_bytes, device.memory_limit_bytes),
        source=Source.worst(*(term.source for term in terms if term.time_s > 0.01 * step_time_s)),
        interval_note=uncertainty.note({term.source for term in terms if term.time_s > 0}, setting.profile),
    )


def stage_memories(setting: Setting, mesh: Mesh, plan: Plan, prices: Sequence[LayerPrice]) -> tuple[StageMemory, ...]:
    """Memory of every pipeline rank, itemised: all of its stages together."""
    found = []
    for rank in range(plan.pp):
        layers = [index for stage in plan.stages[rank :: plan.pp] for index in stage]
        found.append(
            stage_memory(
                StageView(
                    setting,
                    mesh,
                    rank,
                    tuple(setting.model.layers[index] for index in layers),
                    tuple(prices[index] for index in layers),
                    tuple(plan.recompute_layers[index] for index in layers),
                    tuple(len(stage) for stage in plan.stages[rank :: plan.pp]),
                )
            )
        )
    return tuple(found)


def verdict(low_bytes: int, high_bytes: int, limit_bytes: int) -> Verdict:
    """FITS when even the upper bound fits, DOES_NOT_FIT when not even the lower bound does."""
    if high_bytes <= limit_bytes:
        return Verdict.FITS
    return Verdict.TIGHT if low_bytes <= limit_bytes else Verdict.DOES_NOT_FIT


def _terms(setting: Setting, mesh: Mesh, step: Step) -> tuple[TimeTerm, ...]:
    """The step time by term on the rank that ends last, waits included; the terms add up to the step."""
    deciding = step.deciding_rank
    busy_s = 0.0
    terms: list[TimeTerm] = []
    for name, share in step.ranks[deciding].shares.items():
        time_s = mesh.num_microbatches * share.microbatch_s + share.step_s
        busy_s += time_s
        terms.append(TimeTerm(name=name, time_s=time_s, source=share.source))
    if mesh.pp > 1:
        wait_s = max(0.0, step.step_end_s[deciding] - busy_s)
        terms.append(TimeTerm(name=WAIT_TERM, time_s=wait_s, source=_wait_source(step)))
    overhead = host.per_step(setting)
    if overhead.after_s > 0:
        terms.append(TimeTerm(name=overhead.term, time_s=overhead.after_s, source=overhead.source))
    return tuple(sorted(terms, key=lambda term: -term.time_s))


def _wait_source(step: Step) -> Source:
    """A wait is the work of other stages: as trustworthy as the terms that make up more than 1 % of theirs."""
    return Source.worst(
        *(
            share.source
            for price in step.ranks
            for share in price.shares.values()
            if share.microbatch_s > 0.01 * (price.forward_s + price.backward_s)
        )
    )
