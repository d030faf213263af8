"""check(): predicts and judges one layout; what the user left out takes the framework's default."""

from __future__ import annotations

from typing import Any

from costmodel.divisors import divisors
from costmodel.predict import predict
from costmodel.setting import Mesh
from costmodel.spec import Infeasible, Plan, Recompute, Schedule, Verdict
from planner.frameworks import registry
from planner.job import Answer, Job, Layout, setting_of
from planner.plan_file import make_plan_file
from planner.search import baselines, sensitivity
from planner.search.nearest import nearest_plan, with_nearest
from planner.search.shortage import memory_shortage
from planner.search.space import even_plan


def check(job: Job, layout: Layout) -> Answer:
    """The prediction of the layout, with an even stage cut; or the rule it breaks.

    A layout that is priced but may not fit comes back with both: its plan file, and what is missing. Where something
    is wrong, the nearest plan that works is searched for.
    """
    setting, framework = setting_of(job), registry.get(job.framework)
    plan = plan_of_layout(job, layout)
    if isinstance(plan, Infeasible):
        return Answer(None, with_nearest(plan, nearest_plan(job, layout)))
    outcome = framework.refusal(job.model, job.workload, plan) or predict(
        job.model, job.workload, job.cluster, job.stack, plan, job.profile
    )
    if isinstance(outcome, Infeasible):
        return Answer(None, with_nearest(outcome, nearest_plan(job, layout)))
    plan_file = make_plan_file(
        job,
        plan,
        outcome,
        certificate=None,
        baselines=baselines.all_baselines(setting, framework),
        sensitivities=sensitivity.to_assumed_links(setting, plan),
    )
    if outcome.verdict is Verdict.DOES_NOT_FIT:
        return Answer(plan_file, with_nearest(memory_shortage(plan, outcome), nearest_plan(job, layout)))
    return Answer(plan_file, None)


def layout_defaults(job: Job, layout: Layout) -> dict[str, int | str]:
    """What fills the choices that `layout` leaves open, by name: the default of the framework of `job`.

    dp and zero have none where tp x pp does not divide the GPUs.
    """
    defaults, num_gpus = registry.get(job.framework).defaults, job.cluster.num_devices
    tp, pp = layout.tp or 1, layout.pp or 1
    values: dict[str, int | str] = {"tp": 1, "cp": 1, "ep": 1, "pp": 1, "vpp": 1}
    if num_gpus % (tp * pp) == 0:
        values["dp"] = dp = layout.dp or num_gpus // (tp * pp)
        values["zero"] = defaults.zero_for(pp) if dp > 1 else 0
    values["micro_batch"] = defaults.micro_batch
    values["schedule"] = defaults.schedule.value
    values["recompute"] = defaults.recompute.value
    return {name: value for name, value in values.items() if name not in layout.fixed()}


def plan_of_layout(job: Job, layout: Layout) -> Plan | Infeasible:
    """The plan that the flags describe, or why its degrees cannot be laid out."""
    num_gpus, num_layers = job.cluster.num_devices, len(job.model.layers)
    choices: dict[str, Any] = layout.fixed() | layout_defaults(job, layout)
    tp, pp = choices["tp"], choices["pp"]
    if num_gpus % (tp * pp):
        return Infeasible(
            rule="num_ranks",
            sentence=f"tp x pp = {tp} x {pp} = {tp * pp} does not divide {num_gpus} GPUs; "
            f"their product must be one of {', '.join(map(str, divisors(num_gpus)))}",
            needed=tp * pp,
            limit=num_gpus,
        )
    dp = choices["dp"]
    if tp * pp * dp != num_gpus:
        return Infeasible(
            rule="num_ranks",
            sentence=f"tp x pp x dp = {tp} x {pp} x {dp} = {tp * pp * dp}, but there are {num_gpus} GPUs; "
            f"with tp = {tp} and pp = {pp}, dp must be {num_gpus // (tp * pp)}",
            needed=tp * pp * dp,
            limit=num_gpus,
        )
    if pp > num_layers:
        return Infeasible(
            rule="stages_hold_layers",
            sentence=f"pp = {pp} stages cannot each hold one of the {num_layers} layers of {job.model.name}, "
            f"embedding and head included; pp may be at most {num_layers}",
            needed=pp,
            limit=num_layers,
        )
    mesh = Mesh(tp, pp, dp, choices["zero"], choices["micro_batch"], 1, Schedule(choices["schedule"]))
    return even_plan(job.model, job.framework, mesh, Recompute(choices["recompute"]))
