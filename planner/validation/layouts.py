"""The plan that a run describes; what its source leaves open is what its framework does unless told."""

from __future__ import annotations

import math

from pydantic import ValidationError

from costmodel.spec import ModelSpec, Plan, Recompute
from planner.validation.configuration import Configuration
from planner.validation.frameworks import Default, Framework
from planner.validation.recomputes import recompute_named
from planner.validation.schedules import schedule_of
from planner.validation.unsaid import Unsaid, faulty


def plan_of(run: Configuration, model: ModelSpec, framework: Framework) -> tuple[Plan, tuple[str, ...]] | Unsaid:
    """The plan of `run`, and what was assumed of it; the degrees must make up the GPUs."""
    degrees = _degrees(run)
    if isinstance(degrees, Unsaid):
        return degrees
    tp, cp, pp, dp = degrees
    schedule = schedule_of(run)
    if isinstance(schedule, Unsaid):
        return schedule
    notes = []
    zero, sp = run.zero, run.sp
    mode = framework.recompute if run.recompute is None else recompute_named(run.recompute)
    if zero is None:
        zero = framework.zero if dp * cp > 1 else 0
        if dp * cp > 1:
            notes.append(Default(str(zero), framework.zero_from).note("zero"))
    if run.recompute is None:
        notes.append(Default(str(mode), framework.recompute_from).note("recompute"))
    if sp is None:
        sp = framework.sp
        if tp > 1:
            notes.append(Default("on" if sp else "off", framework.sp_from).note("sp"))
    num_stages = pp * (run.vpp or 1)
    if num_stages > run.layers + 2:
        return faulty(f"pp x vpp is {num_stages}, above the {run.layers} layers with embedding and head")
    ep = run.ep or 1
    if run.experts is None and ep > 1:
        return faulty(f"ep is {ep}, but experts is missing")
    if run.experts is not None and ep > run.experts and ep % run.experts == 0:
        notes.append(f"ep {ep} holds copies of the {run.experts} experts, priced as ep {run.experts}")
        ep = run.experts
    etp = None
    if run.experts is not None and tp > 1:
        etp, default = framework.etp(tp, ep, tp * cp * dp)
        notes.append(default.note("etp"))
    try:
        plan = Plan.model_validate(
            {
                "framework": framework.stack.name,
                "tp": tp,
                "sp": sp,
                "cp": cp,
                "ep": ep,
                "etp": etp,
                "pp": pp,
                "vpp": run.vpp or 1,
                "dp": dp,
                "zero": zero,
                "micro_batch": run.micro_batch,
                "schedule": schedule,
                "cut": balanced_cut(run.layers, num_stages),
                "recompute_layers": (Recompute.NONE, *[mode] * (len(model.layers) - 2), Recompute.NONE),
            }
        )
    except ValidationError as error:
        return faulty(error.errors(include_url=False)[0]["msg"].removeprefix("Value error, "))
    return plan, tuple(notes)


def _degrees(run: Configuration) -> tuple[int, int, int, int] | Unsaid:
    """tp, cp, pp and dp; dp is what the others leave where it is not stated."""
    tp, cp, pp = run.tp, run.cp or 1, run.pp
    known = [(name, degree) for name, degree in (("tp", tp), ("pp", pp), ("dp", run.dp)) if degree is not None]
    unknown = [name for name, degree in (("tp", tp), ("pp", pp), ("dp", run.dp)) if degree is None]
    product = cp * math.prod(degree for _, degree in known)
    if len(unknown) > 1:
        return faulty(f"{' and '.join(unknown)} are missing")
    if run.n_gpus % product or (not unknown and product != run.n_gpus):
        said = " x ".join([*(f"{name} {degree}" for name, degree in known), f"cp {cp}"])
        return faulty(f"{said} is {product}, but n_gpus is {run.n_gpus}")
    rest = run.n_gpus // product
    return tp or rest, cp, pp or rest, run.dp or rest


def balanced_cut(num_blocks: int, num_stages: int) -> tuple[int, ...]:
    """Layers of each stage, embedding and head on the first and the last.

    Blocks are shared out evenly, the first stages taking one more where they do not divide. Where they divide once
    embedding and head count as blocks, as in recipes of 126 layers on 128 places, these do.
    """
    if num_blocks % num_stages and (num_blocks + 2) % num_stages == 0:
        return ((num_blocks + 2) // num_stages,) * num_stages
    size, rest = divmod(num_blocks, num_stages)
    cut = [size + (stage < rest) for stage in range(num_stages)]
    cut[0] += 1
    cut[-1] += 1
    return tuple(cut)
