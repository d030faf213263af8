"""What no arithmetic can price: plans that contradict their cluster, model or batch, as values with a sentence."""

from __future__ import annotations

from costmodel.setting import Setting
from costmodel.spec import Infeasible, Plan


def contradiction(setting: Setting, plan: Plan) -> Infeasible | None:
    """The first contradiction between `plan` and its setting, or None."""
    return (
        _num_ranks(setting, plan)
        or _precision(setting)
        or _layers(setting, plan)
        or _batch(setting, plan)
        or _shapes(setting, plan)
    )


def _num_ranks(setting: Setting, plan: Plan) -> Infeasible | None:
    devices = setting.cluster.num_devices
    if plan.num_ranks == devices:
        return None
    return Infeasible(
        rule="num_ranks",
        sentence=f"tp x cp x pp x dp = {plan.tp} x {plan.cp} x {plan.pp} x {plan.dp} = {plan.num_ranks} ranks, "
        f"but the cluster has {devices} devices; the product must be {devices}",
        needed=plan.num_ranks,
        limit=devices,
    )


def _precision(setting: Setting) -> Infeasible | None:
    precision, device = setting.workload.precision, setting.cluster.device
    if precision in device.peak_flop_per_s:
        return None
    return Infeasible(
        rule="precision",
        sentence=f"{device.name} has no {precision} arithmetic; it has {', '.join(device.peak_flop_per_s)}",
    )


def _layers(setting: Setting, plan: Plan) -> Infeasible | None:
    needed, held = len(setting.model.layers), sum(plan.cut)
    if needed == held:
        return None
    return Infeasible(
        rule="cut_covers_model",
        sentence=f"the stages hold {held} layers, but {setting.model.name} has {needed} with embedding and head",
        needed=needed,
        limit=held,
    )


def _batch(setting: Setting, plan: Plan) -> Infeasible | None:
    batch, size = setting.workload.global_batch, plan.micro_batch * plan.dp
    if batch % size == 0:
        return None
    return Infeasible(
        rule="batch_divides",
        sentence=f"global_batch = {batch} is not a multiple of micro_batch x dp = {plan.micro_batch} x {plan.dp}",
        needed=size,
        limit=batch,
    )


def _shapes(setting: Setting, plan: Plan) -> Infeasible | None:
    for block in dict.fromkeys(setting.model.blocks):
        for field in ("num_heads", "num_kv_heads", "ffn_hidden"):
            if getattr(block, field) % plan.tp:
                return _undivided(plan.tp, field, getattr(block, field))
    if setting.workload.seq_len % plan.tp:
        return _undivided(plan.tp, "seq_len", setting.workload.seq_len)
    return None


def _undivided(tp: int, field: str, size: int) -> Infeasible:
    return Infeasible(
        rule=f"{field}_divides", sentence=f"tp = {tp} does not divide {field} = {size}", needed=tp, limit=size
    )
