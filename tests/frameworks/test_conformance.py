"""What every framework must hold: rules with examples, and exports that lose nothing of a plan that the rules allow."""

from __future__ import annotations

import ast
import subprocess
from typing import Any

import pytest
from export_readers import READERS, num_launched_ranks
from framework_samples import sample_cluster, sample_model, sample_plan, sample_plan_file, sample_workload
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from costmodel import stacks
from costmodel.spec import (
    Block,
    DeviceKind,
    Embedding,
    Head,
    LayerRun,
    Mamba2,
    ModelSpec,
    Part,
    Plan,
    Recompute,
    Schedule,
    Traced,
    Workload,
)
from planner.frameworks.framework import Framework
from planner.frameworks.registry import FRAMEWORKS
from tests.samples.blocks import dense_block

Example = tuple[ModelSpec, Workload, Plan]
each_framework = pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)


def example(*, model: dict[str, Any] | None = None, workload: dict[str, Any] | None = None, **plan: Any) -> Example:
    """One that every framework can express, but for what is given."""
    return sample_model(**model or {}), sample_workload(**workload or {}), sample_plan("any", **plan)


RECURRENT = Block(
    hidden=64,
    mixer=Mamba2(hidden=64, num_heads=6, head_dim=16, num_groups=2, state_size=8, conv_kernel=4, chunk_size=32),
)
TRACED = Traced(name="Mystery", hidden=64, params=1000, flop_per_token=2000.0, saved_values_per_token=10.0)


def of_blocks(block: Block | Traced, **first: Any) -> dict[str, Any]:
    """Four of `block` between an embedding and a head."""
    return {
        "runs": (
            LayerRun(part=Part.EMBEDDING, layer=Embedding(vocab=512, hidden=64), **first),
            LayerRun(part=Part.BLOCKS, layer=block, count=4),
            LayerRun(part=Part.HEAD, layer=Head(vocab=512, hidden=64)),
        )
    }


VIOLATIONS: dict[str, Example] = {
    "planned_axes": example(cp=2),
    "architecture_expressible": example(model={"architecture": "FalconForCausalLM"}),
    "biases_expressible": example(model={"mlp_bias": True}),
    "features_expressible": example(model={"gated": False}),
    "zero_expressible": example(zero=3, dp=2, pp=2),
    "schedule_expressible": example(schedule=Schedule.GPIPE, pp=2),
    "pipeline_single_stream": example(model=of_blocks(dense_block(64, 8, 4, 8, 160), num_tokens=16), pp=2),
    "tensor_parallel_known_layers": example(model=of_blocks(TRACED), tp=2),
    "recurrence_divides": example(model=of_blocks(RECURRENT), workload={"seq_len": 128}, tp=4),
    "attends_fully": example(model={"window": 16}),
    "untied_with_pipeline": example(model={"tied": True}, pp=2),
    "heads_divide": example(tp=3),
    "kv_heads_divide": example(model={"num_heads": 24, "num_kv_heads": 6, "ffn_hidden": 96}, tp=4),
    "ffn_divides": example(model={"num_heads": 24, "num_kv_heads": 24}, workload={"seq_len": 96}, tp=3),
    "vocab_divides": example(model={"vocab": 511}, tp=2),
    "seq_len_divides": example(workload={"seq_len": 127}, tp=2),
    "batch_divides": example(dp=3),
    "enough_microbatches": example(pp=2, micro_batch=8),
    "cut_covers_model": example(cut=(3,), recompute_layers=(Recompute.NONE,) * 3),
    "recompute_expressible": example(full=(0,)),
}
"""For each rule, something that breaks it; `blocks_alike` has its own test."""


@each_framework
def test_every_rule_states_itself_and_has_a_violation(framework: Framework) -> None:
    names = [rule.name for rule in framework.rules]
    assert len(set(names)) == len(names)
    for rule in framework.rules:
        assert rule.sentence.endswith(".")
        if rule.name in ("blocks_alike", "schedule_expressible", "zero_expressible"):
            continue  # tested below and in test_rules: whether they can be broken depends on the framework
        infeasible = rule.check(*VIOLATIONS[rule.name])
        assert infeasible is not None, f"{rule.name} is not broken by its example"
        assert infeasible.rule == rule.name
        assert len(infeasible.sentence) > 20
        assert "\n" not in infeasible.sentence


@each_framework
def test_stages_and_schedules_it_does_not_list_are_refused(framework: Framework) -> None:
    for schedule in Schedule:
        refusal = framework.refusal(*example(pp=2, schedule=schedule))
        assert (refusal is None) == (schedule in framework.schedules)
    allowed = {
        zero for zero in range(4) for pp in (1, 2) if framework.refusal(*example(pp=pp, dp=2, zero=zero)) is None
    }
    assert allowed == set(framework.zero_stages)


@each_framework
def test_every_rule_is_obeyed_by_a_plain_plan(framework: Framework) -> None:
    for plain in (example(), example(tp=2, dp=2, zero=framework.defaults.zero), example(pp=2, cut=(2, 4))):
        assert [rule.name for rule in framework.rules if rule.check(*plain) is not None] == []


@each_framework
def test_mesh_rules_do_not_look_at_cut_and_recompute(framework: Framework) -> None:
    """The search asks them before there is a cut."""
    for name, (model, workload, plan) in VIOLATIONS.items():
        other = sample_plan(
            plan.framework,
            full=(1, 2, 3, 4),
            **{field: getattr(plan, field) for field in ("tp", "cp", "pp", "dp", "zero", "micro_batch", "schedule")},
        )
        for rule in framework.mesh_rules:
            assert (rule.check(model, workload, plan) is None) == (rule.check(model, workload, other) is None), name


@each_framework
def test_defaults_can_be_expressed_and_are_priced(framework: Framework) -> None:
    defaults = framework.defaults
    blocks = (1, 2, 3, 4) if defaults.recompute is Recompute.FULL else ()
    for pp in (1, 2):
        plan = sample_plan(
            framework.name,
            full=blocks,
            pp=pp,
            dp=2,
            zero=defaults.zero_for(pp),
            micro_batch=defaults.micro_batch,
            schedule=defaults.schedule,
        )
        assert framework.refusal(sample_model(), sample_workload(), plan) is None
    for kind in framework.stacks:
        assert stacks.get(framework.stack_name(kind)).name == framework.stack_name(kind)
    assert DeviceKind.CUDA in framework.stacks


@st.composite
def plans(draw: st.DrawFn, framework: Framework) -> tuple[Plan, Workload]:
    """Plans of a four-block model and jobs for them, many of which the framework can express."""
    tp, pp, dp = draw(st.sampled_from([1, 2, 4])), draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 3]))
    bounds = sorted(draw(st.sets(st.integers(1, 5), min_size=pp - 1, max_size=pp - 1)))
    cut = tuple(stop - start for start, stop in zip([0, *bounds], [*bounds, 6], strict=True))
    blocks = draw(st.one_of(st.just(()), st.just((1, 2, 3, 4)), st.sets(st.integers(1, 4)).map(tuple)))
    micro_batch, count = draw(st.integers(1, 3)), draw(st.integers(pp, 6))
    plan = sample_plan(
        framework.name,
        full=tuple(blocks),
        tp=tp,
        pp=pp,
        dp=dp,
        zero=draw(st.sampled_from(framework.zero_stages)),
        micro_batch=micro_batch,
        schedule=draw(st.sampled_from(framework.schedules)),
        cut=cut,
    )
    return plan, sample_workload(global_batch=micro_batch * dp * count)


@each_framework
@settings(max_examples=40)
@given(data=st.data())
def test_everything_that_the_rules_allow_is_written_and_nothing_is_lost(
    framework: Framework, data: st.DataObject
) -> None:
    plan, workload = data.draw(plans(framework))
    assume(framework.refusal(sample_model(), workload, plan) is None)
    cluster = sample_cluster(plan.num_ranks, per_node=plan.num_ranks if plan.num_ranks % 4 else 4)
    texts = framework.write(sample_plan_file(plan, workload=workload, cluster=cluster), "torchrun")

    job = READERS[framework.name](texts)
    assert (job.tp, job.pp, job.dp) == (plan.tp, plan.pp, plan.dp)
    assert job.tp * job.pp * job.dp == plan.num_ranks == num_launched_ranks(texts["train.sh"])
    assert (job.micro_batch, job.global_batch) == (plan.micro_batch, workload.global_batch)
    assert job.recompute_layers == plan.recompute_layers
    if plan.pp > 1:
        assert (job.cut, job.schedule) == (plan.cut, plan.schedule)
    if plan.dp > 1:
        assert job.zero == plan.zero

    for name, text in texts.items():
        assert text.endswith("\n")
        if name.endswith(".py"):
            ast.parse(text)
        if name.endswith(".sh"):
            assert framework.version in text
            assert plan.plan_id in text


@each_framework
@pytest.mark.parametrize("num_nodes", [1, 4])
def test_scripts_are_sound_shell(framework: Framework, num_nodes: int) -> None:
    plan = sample_plan(framework.name, tp=2, pp=2, dp=2)
    texts = framework.write(sample_plan_file(plan, cluster=sample_cluster(8, per_node=8 // num_nodes)), "torchrun")
    for name, text in texts.items():
        if name.endswith(".sh"):
            subprocess.run(["bash", "-n"], input=text, text=True, check=True)
