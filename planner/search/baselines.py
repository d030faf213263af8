"""What rules of thumb would have given for the same job: the plans people start from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from costmodel.divisors import divisors
from costmodel.predict import predict
from costmodel.setting import Mesh, Setting
from costmodel.spec import Baseline, Infeasible, Plan, Prediction, Recompute, Schedule, Verdict
from planner.frameworks.framework import Framework
from planner.search.space import even_plan

TP_PP_DP = "tensor inside the node, then pipeline, then data"
TP_PP_DP_RULE = (
    "Raise tp inside one node until the model fits, then pp, and give the rest to dp; optimizer sharded (ZeRO-1) "
    "where the framework can, micro-batch 1, full recomputation only where it is needed to fit."
)
ZERO_3 = "ZeRO-3 alone"
ZERO_3_RULE = (
    "Shard everything over all GPUs, no tensor or pipeline parallelism, the largest micro-batch that fits, full "
    "recomputation only where it is needed to fit."
)


def all_baselines(setting: Setting, framework: Framework) -> tuple[Baseline, ...]:
    """Each rule's plan and prediction, or why the rule finds none."""
    return (
        _first_that_fits(TP_PP_DP, TP_PP_DP_RULE, setting, framework, _tp_pp_dp(setting, framework)),
        _first_that_fits(ZERO_3, ZERO_3_RULE, setting, framework, _zero_3(setting)),
    )


def _tp_pp_dp(setting: Setting, framework: Framework) -> Iterator[tuple[Mesh, Recompute]]:
    cluster, batch = setting.cluster, setting.workload.global_batch
    in_node = [tp for tp in divisors(cluster.num_devices) if tp <= cluster.devices_per_node]
    widths = [(tp, 1) for tp in in_node]
    widths += [(in_node[-1], pp) for pp in divisors(cluster.num_devices // in_node[-1]) if pp > 1]
    for tp, pp in widths:
        dp = cluster.num_devices // tp // pp
        if batch % dp == 0 and pp <= len(setting.model.layers):
            mesh = Mesh(tp, pp, dp, 0, 1, batch // dp, Schedule.ONE_F_ONE_B)
            sharded = replace(mesh, zero=1)
            plan = even_plan(setting.model, framework.name, sharded, Recompute.NONE)
            if dp > 1 and framework.refusal(setting.model, setting.workload, plan) is None:
                mesh = sharded
            for recompute in Recompute:
                yield mesh, recompute


def _zero_3(setting: Setting) -> Iterator[tuple[Mesh, Recompute]]:
    dp, batch = setting.cluster.num_devices, setting.workload.global_batch
    if batch % dp == 0:
        for recompute in Recompute:
            for micro_batch in reversed(divisors(batch // dp)):
                yield Mesh(1, 1, dp, 3, micro_batch, batch // dp // micro_batch, Schedule.ONE_F_ONE_B), recompute


def _first_that_fits(
    name: str, rule: str, setting: Setting, framework: Framework, tries: Iterator[tuple[Mesh, Recompute]]
) -> Baseline:
    """The first try that the framework can express and that fits; else the last refusal, or the last plan."""
    refusal = Infeasible(
        rule="batch_divides",
        sentence=f"no data-parallel degree of this rule divides global_batch = {setting.workload.global_batch}",
    )
    too_big: tuple[Plan, Prediction] | None = None
    for mesh, recompute in tries:
        plan = even_plan(setting.model, framework.name, mesh, recompute)
        outcome = framework.refusal(setting.model, setting.workload, plan) or predict(
            setting.model, setting.workload, setting.cluster, setting.stack, plan, setting.profile
        )
        if isinstance(outcome, Infeasible):
            refusal = outcome
        elif outcome.verdict is Verdict.FITS:
            return Baseline(name=name, rule=rule, plan=plan, prediction=outcome)
        else:
            too_big = (plan, outcome)
    if too_big is not None:
        return Baseline(name=name, rule=rule, plan=too_big[0], prediction=too_big[1])
    return Baseline(name=name, rule=rule, plan=None, prediction=None, infeasible=refusal)
