"""What no arithmetic can price: plans that contradict their cluster, model or batch, as values with a sentence."""

from __future__ import annotations

from costmodel import divisibility
from costmodel.schedules import SCHEDULES
from costmodel.setting import Setting
from costmodel.spec import (
    Block,
    Embedding,
    FinalNorm,
    Head,
    Infeasible,
    Layer,
    Mlp,
    ModelSpec,
    Moe,
    Plan,
    Traced,
    Workload,
)

DIVISIBILITY = (
    divisibility.batch,
    divisibility.heads,
    divisibility.kv_heads,
    divisibility.ffn,
    divisibility.recurrence,
    divisibility.seq_len,
)
"""What a price rests on. The vocabulary is not among it: shards of it are padded."""

MAX_PASSES = 2**16
"""Micro-batches times stages of a step that is simulated pass by pass, which takes seconds beyond this."""


def contradiction(setting: Setting, plan: Plan) -> Infeasible | None:
    """The first contradiction between `plan` and its setting, or None."""
    return (
        _num_passes(setting, plan)
        or _num_ranks(setting, plan)
        or _precision(setting)
        or single_stream(setting.model, setting.workload, plan)
        or splittable(setting.model, setting.workload, plan)
        or context_splittable(setting.model, setting.workload, plan)
        or experts_splittable(setting.model, setting.workload, plan)
        or chunks_in_turns(setting.model, setting.workload, plan)
        or cut_covers_model(setting.model, setting.workload, plan)
        or _divisibility(setting, plan)
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


def _num_passes(setting: Setting, plan: Plan) -> Infeasible | None:
    batch = setting.workload.global_batch
    count = batch // (plan.micro_batch * plan.dp)
    if count * plan.pp <= MAX_PASSES:
        return None
    return Infeasible(
        rule="num_passes",
        sentence=f"global_batch = {batch}, micro_batch = {plan.micro_batch} and dp = {plan.dp} give {count} "
        f"micro-batches for pp = {plan.pp}, but a step of more than {MAX_PASSES} micro-batches x stages is not "
        "simulated; use a larger micro_batch or dp, or a smaller global_batch",
        needed=count * plan.pp,
        limit=MAX_PASSES,
    )


def _precision(setting: Setting) -> Infeasible | None:
    precision, device = setting.workload.precision, setting.cluster.device
    if precision in device.precisions:
        return None
    return Infeasible(
        rule="precision",
        sentence=f"{device.name} has no {precision} arithmetic; it has {', '.join(device.precisions)}",
    )


def single_stream(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """A model through which one hidden state runs is cut into stages; what crosses a cut elsewhere has no price."""
    if plan.pp == 1 or model.is_single_stream:
        return None
    return Infeasible(
        rule="pipeline_single_stream",
        sentence=f"pp = {plan.pp} would cut {model.name}, but a {model.architecture} is more than one stack of blocks "
        "between an embedding and a head, and what passes between its parts is not priced; use pp = 1",
        needed=plan.pp,
        limit=1,
    )


def splittable(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """A layer that is known by its traces only cannot be split by tensor parallelism."""
    if plan.tp == 1 or not any(isinstance(run.layer, Traced) for run in model.runs):
        return None
    return Infeasible(
        rule="tensor_parallel_known_layers",
        sentence=f"tp = {plan.tp} would split {model.name}, but its layers are known by tracing only, not by what is "
        "inside them; use tp = 1",
        needed=plan.tp,
        limit=1,
    )


def context_splittable(model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
    """Context parallelism shares out the tokens of blocks whose mixers are attention, two equal slices to a rank.

    Each rank takes one slice from the front and one from the back, so that all meet as many pairs under a causal mask.
    """
    if plan.cp == 1:
        return None
    if not all(_attends_to_itself(run.layer) for run in model.runs):
        return Infeasible(
            rule="context_parallel_attention",
            sentence=f"cp = {plan.cp} would share out the sequences of {model.name}, but that has a price only in "
            "blocks of attention over their own tokens; use cp = 1",
            needed=plan.cp,
            limit=1,
        )
    slices = 2 * plan.cp * (plan.tp if plan.sp else 1)
    if workload.seq_len % slices:
        return Infeasible(
            rule="context_parallel_divides",
            sentence=f"seq_len = {workload.seq_len} is not a multiple of 2 x cp{' x tp' if plan.sp else ''} = {slices}",
            needed=slices,
            limit=workload.seq_len,
        )
    return None


def experts_splittable(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """Expert parallelism shares out routed experts evenly, inside the ranks of a stage, each with tokens of its own."""
    experts = {block.feed_forward for block in model.blocks if isinstance(block, Block)}
    routed = [part for part in experts if isinstance(part, Moe)]
    expert_tp = plan.tp if plan.etp is None else plan.etp
    if plan.ep == 1 and expert_tp == plan.tp:
        return None
    if plan.tp > 1 and not plan.sp:
        return Infeasible(
            rule="experts_need_slices",
            sentence=f"ep = {plan.ep} and etp = {expert_tp} exchange tokens of which each rank has its own, but "
            f"sp = false leaves all of them to each of tp = {plan.tp} ranks; use sp = true, or ep = 1 and etp = tp",
            needed=plan.tp,
            limit=1,
        )
    ranks = plan.tp * plan.cp * plan.dp
    needed: int | None = plan.ep
    limit: int | None
    if not routed:
        said = f"ep = {plan.ep} and etp = {expert_tp} share out routed experts, of which {model.name} has none"
        needed = limit = None
    elif ranks % (plan.ep * expert_tp):
        said = f"ep x etp = {plan.ep} x {expert_tp} does not divide tp x cp x dp = {ranks}"
        needed, limit = plan.ep * expert_tp, ranks
    elif uneven := next((part for part in routed if part.num_experts % plan.ep), None):
        said = f"ep = {plan.ep} does not divide num_experts = {uneven.num_experts}"
        limit = uneven.num_experts
    elif narrow := next((part for part in routed if part.ffn_hidden % expert_tp), None):
        said = f"etp = {expert_tp} does not divide moe_intermediate_size = {narrow.ffn_hidden}"
        needed, limit = expert_tp, narrow.ffn_hidden
    else:
        return None
    remedy = "give degrees that divide" if routed else "use ep = 1 and etp = tp"
    return Infeasible(rule="experts_divide", sentence=f"{said}; {remedy}", needed=needed, limit=limit)


def chunks_in_turns(_model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
    """Several stages on a rank need a schedule that takes them in turns, which takes groups of pp micro-batches."""
    has_chunks = SCHEDULES[plan.schedule].has_chunks
    count = workload.global_batch // (plan.micro_batch * plan.dp)
    if plan.vpp > 1 and plan.pp == 1:
        said = f"vpp = {plan.vpp} gives a rank several stages of a pipeline, but pp is 1; use vpp = 1, or pp of 2"
        needed, limit = plan.vpp, 1
    elif plan.vpp > 1 and not has_chunks:
        said = f"vpp = {plan.vpp} puts several stages on a rank, but schedule {plan.schedule} has one; use interleaved"
        needed, limit = plan.vpp, 1
    elif has_chunks and plan.vpp == 1:
        said = f"schedule {plan.schedule} takes several stages of a rank in turns, but vpp is 1; use 1f1b, or vpp of 2"
        needed, limit = 2, plan.vpp
    elif has_chunks and count % plan.pp:
        said = f"schedule {plan.schedule} takes micro-batches in groups of pp = {plan.pp}, but there are {count}"
        needed, limit = plan.pp, count
    else:
        return None
    return Infeasible(rule="chunks_in_turns", sentence=said, needed=needed, limit=limit)


def planned_axes(_model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """Degrees that plans are trained with or handed to a framework: the others are priced alone."""
    expert_tp = plan.tp if plan.etp is None else plan.etp
    degrees = (("cp", plan.cp, 1), ("ep", plan.ep, 1), ("etp", expert_tp, plan.tp), ("vpp", plan.vpp, 1))
    for name, needed, limit in degrees:
        if needed != limit:
            said, remedy = f"{name} = {needed}", f"{name} = {limit}"
            break
    else:
        if plan.tp == 1 or plan.sp:
            return None
        said, remedy, needed, limit = f"sp = false with tp = {plan.tp}", "sp = true, or tp = 1", plan.tp, 1
    return Infeasible(
        rule="planned_axes",
        sentence=f"{said} is priced, but neither trained with nor handed to a framework yet; use {remedy}",
        needed=needed,
        limit=limit,
    )


def _attends_to_itself(layer: Layer) -> bool:
    if isinstance(layer, Block):
        mixers = [part for part in layer.parts if not isinstance(part, Mlp | Moe)]
        return all(mixer.ring_width is not None for mixer in mixers)
    return isinstance(layer, Embedding | FinalNorm | Head)


def cut_covers_model(model: ModelSpec, _workload: Workload, plan: Plan) -> Infeasible | None:
    """The stages hold every layer of the model once."""
    num_layers, num_cut = len(model.layers), sum(plan.cut)
    if num_cut == num_layers:
        return None
    return Infeasible(
        rule="cut_covers_model",
        sentence=f"cut {list(plan.cut)} holds {num_cut} layers, but {model.name} has {num_layers}, "
        f"embedding and head included; the stages must add up to {num_layers}",
        needed=num_layers,
        limit=num_cut,
    )


def _divisibility(setting: Setting, plan: Plan) -> Infeasible | None:
    refusals = (rule(setting.model, setting.workload, plan) for rule in DIVISIBILITY)
    return next((refusal for refusal in refusals if refusal is not None), None)
