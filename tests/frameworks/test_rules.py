"""The sentences of refusals: each names the field, the value and what would do."""

from __future__ import annotations

import pytest
from framework_samples import sample_cluster, sample_model, sample_plan, sample_workload

from costmodel import stacks
from costmodel.errors import BadInputError
from costmodel.predict import predict
from costmodel.spec import (
    DeviceKind,
    Embedding,
    Head,
    Infeasible,
    LayerRun,
    ModelSpec,
    Part,
    Plan,
    Schedule,
    Workload,
)
from planner.frameworks import registry
from tests.samples.blocks import dense_block, with_sizes


def refusal(framework: str, plan: Plan, model: ModelSpec | None = None, workload: Workload | None = None) -> str:
    infeasible = registry.get(framework).refusal(model or sample_model(), workload or sample_workload(), plan)
    assert infeasible is not None
    return infeasible.sentence


def test_an_unknown_framework_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        BadInputError, match="'megatorn' is not supported by this version; valid values: native, megatron, torchtitan"
    ):
        registry.get("megatorn")


def test_a_framework_that_needs_cuda_is_refused_on_cpu() -> None:
    assert registry.get("native").stack_name(DeviceKind.CPU) == "native-cpu"
    with pytest.raises(
        BadInputError, match="framework megatron runs on cuda devices, not on cpu; use framework native"
    ):
        registry.get("megatron").stack_name(DeviceKind.CPU)


def test_heads_name_every_degree_that_divides_them() -> None:
    # 8 heads on 6 ranks: 1, 2 and 4 divide the heads, of which 1 and 2 divide the ranks too.
    assert refusal("native", sample_plan("native", tp=3, dp=2)) == (
        "tp = 3 does not divide num_attention_heads = 8; valid values on 6 GPUs: 1, 2"
    )


def test_degrees_that_are_named_pass_every_rule() -> None:
    # 8 heads would let 8 ranks have one each, but 4 key-value heads do not, and a sequence of 126 lets 2 at most.
    short = sample_workload(seq_len=126)
    assert refusal("megatron", sample_plan("megatron", tp=16), workload=short).endswith("valid values on 16 GPUs: 1, 2")
    # Only our own executor has no vocabulary of 511 split in two: the others pad it.
    odd = sample_model(vocab=511)
    assert refusal("native", sample_plan("native", tp=16), odd).endswith("valid values on 16 GPUs: 1")
    assert refusal("megatron", sample_plan("megatron", tp=16), odd).endswith("valid values on 16 GPUs: 1, 2, 4")


def test_batches_that_are_named_pass_every_rule() -> None:
    # 12 sequences: of 1, 2 and 4 ranks, 4 leave 3 for each, which micro-batches of 2 do not divide.
    twelve = sample_workload(global_batch=12)
    assert "valid values of dp on 8 GPUs: 1, 2" in refusal(
        "native", sample_plan("native", dp=8, micro_batch=2), workload=twelve
    )
    # Micro-batches of 1 to 4 divide 12, of 4 there would be 3 for 4 stages.
    assert "valid values up to 5: 1, 2, 3" in refusal(
        "native", sample_plan("native", pp=4, micro_batch=5), workload=twelve
    )


def test_where_no_batch_would_do_another_remedy_is_named() -> None:
    # 7 divides no share of 12 sequences, whatever dp; 1 divides them all.
    twelve = sample_workload(global_batch=12)
    assert refusal("native", sample_plan("native", dp=8, micro_batch=7), workload=twelve).endswith(
        "valid values of dp on 8 GPUs with micro_batch = 1: 1, 2, 4"
    )
    # 3 sequences for each of 4 ranks are at most 3 micro-batches for 4 stages: 4 for each of 4 ranks would be 16.
    assert refusal("native", sample_plan("native", pp=4, dp=4, micro_batch=2), workload=twelve).endswith(
        "schedule 1f1b takes global_batch of at least pp x dp = 16"
    )


def test_kv_heads_are_never_replicated() -> None:
    # Megatron-LM would put one of 4 key-value heads on two ranks each; what that costs nobody can say yet.
    for framework in registry.FRAMEWORKS:
        assert refusal(framework.name, sample_plan(framework.name, tp=8)) == (
            "tp = 8 does not divide num_key_value_heads = 4; valid values on 8 GPUs: 1, 2, 4"
        )


@pytest.mark.parametrize(
    ("model", "workload", "choices", "rule"),
    [
        ({}, {}, {"tp": 3}, "heads_divide"),
        ({}, {}, {"tp": 8}, "kv_heads_divide"),
        ({"ffn_hidden": 162}, {}, {"tp": 4}, "ffn_divides"),
        ({}, {"seq_len": 126}, {"tp": 4}, "seq_len_divides"),
        ({}, {}, {"dp": 3}, "batch_divides"),
        ({}, {}, {"micro_batch": 3}, "batch_divides"),
        ({"num_layers": 3}, {}, {}, "cut_covers_model"),
    ],
)
def test_frameworks_and_cost_model_refuse_alike(
    model: dict[str, int], workload: dict[str, int], choices: dict[str, int], rule: str
) -> None:
    """What cannot be priced has one rule and one sentence, whoever is asked."""
    spec, of, plan = sample_model(**model), sample_workload(**workload), sample_plan("native", **choices)
    cluster = sample_cluster(plan.num_ranks)
    priced = predict(spec, of, cluster, stacks.get("native-cuda"), plan)
    assert isinstance(priced, Infeasible)
    assert priced.rule == rule
    for framework in registry.FRAMEWORKS:
        assert framework.refusal(spec, of, plan) == priced


def test_a_batch_that_does_not_divide_names_the_degree_at_fault() -> None:
    assert refusal("native", sample_plan("native", dp=3)) == (
        "dp = 3 does not divide global_batch = 8; valid values of dp on 3 GPUs: 1"
    )
    # 8 sequences over 2 data-parallel ranks leave 4 for each, which 3 does not divide.
    assert refusal("native", sample_plan("native", dp=2, micro_batch=3)) == (
        "micro_batch = 3 does not divide global_batch / dp = 8 / 2 = 4; valid values up to 3: 1, 2"
    )


def test_1f1b_needs_as_many_microbatches_as_stages() -> None:
    # 8 sequences in micro-batches of 4 are 2 micro-batches for 4 stages; micro-batches of 1 or 2 give 8 or 4.
    plan = sample_plan("native", pp=4, micro_batch=4)
    assert refusal("native", plan) == (
        "schedule 1f1b needs at least as many micro-batches as stages, but global_batch = 8, micro_batch = 4 "
        "and dp = 1 give 2 for pp = 4; valid values of micro_batch: 1, 2"
    )
    assert "global_batch of at least pp x dp = 12" in refusal(
        "native", sample_plan("native", pp=6, dp=2), workload=sample_workload(global_batch=8)
    )
    gpipe = plan.model_copy(update={"schedule": Schedule.GPIPE})
    assert registry.get("native").refusal(sample_model(), sample_workload(), gpipe) is None
    assert registry.get("megatron").refusal(sample_model(), sample_workload(), plan) is None


def test_tied_embeddings_are_split_by_megatron_alone() -> None:
    plan, tied = sample_plan("megatron", pp=2), sample_model(tied=True)
    assert registry.get("megatron").refusal(tied, sample_workload(), plan) is None
    assert refusal("native", plan, tied) == (
        "pp = 2 would put embedding and head of tiny on different stages, but tie_word_embeddings is true; use pp = 1"
    )


def test_blocks_that_differ_are_run_by_the_native_executor_alone() -> None:
    narrow = dense_block(hidden=64, num_heads=8, num_kv_heads=4, head_dim=8, ffn_hidden=128)
    model = ModelSpec(
        name="mixed",
        architecture="LlamaForCausalLM",
        runs=(
            LayerRun(part=Part.EMBEDDING, layer=Embedding(vocab=512, hidden=64)),
            LayerRun(part=Part.BLOCKS, layer=narrow, count=2),
            LayerRun(part=Part.BLOCKS, layer=with_sizes(narrow, ffn_hidden=160), count=2),
            LayerRun(part=Part.HEAD, layer=Head(vocab=512, hidden=64)),
        ),
    )
    plan = sample_plan("native")
    assert registry.get("native").refusal(model, sample_workload(), plan) is None
    for framework in ("megatron", "torchtitan"):
        assert "the blocks of mixed have 2 different shapes" in refusal(framework, plan, model)


@pytest.mark.parametrize(
    ("cut", "full", "expressible"),
    [
        ((3, 3), (), True),
        ((3, 3), (1, 2, 3, 4), True),
        ((3, 3), (1, 3), True),  # one block of each stage, the first
        ((3, 3), (2, 4), False),  # one block of each stage, the second
        ((3, 3), (1,), False),  # one block of the first stage, none of the second
        ((2, 4), (2,), False),  # none of the first stage, which has one block; one of the second
        ((2, 4), (1, 2), True),
        ((2, 4), (1, 2, 3), True),  # n = 2: the first stage has one block, so all of it
        ((4, 2), (1, 2, 4), True),  # n = 2: the second stage has one block, so all of it
        ((1, 5), (1, 2), True),  # the first stage has no block to recompute
    ],
)
def test_megatron_recomputes_the_first_blocks_of_every_stage(
    cut: tuple[int, ...], full: tuple[int, ...], expressible: bool
) -> None:
    plan = sample_plan("megatron", full=full, pp=2, cut=cut)
    infeasible = registry.get("megatron").refusal(sample_model(), sample_workload(), plan)
    assert (infeasible is None) == expressible


@pytest.mark.parametrize("ends", [(0,), (5,), (0, 5)])
def test_embedding_and_head_are_recomputed_by_no_framework(ends: tuple[int, ...]) -> None:
    plan = sample_plan("native", full=(1, 2, 3, 4, *ends))
    assert "neither the embedding nor the head" in refusal("native", plan)
    assert "neither the embedding nor the head" in refusal("megatron", plan)
    assert "neither embedding nor head" in refusal("torchtitan", plan)


def test_zero_of_torchtitan_depends_on_the_pipeline() -> None:
    assert refusal("torchtitan", sample_plan("torchtitan", dp=2, zero=1)) == (
        "zero = 1 with pp = 1 is not possible with torchtitan: without a pipeline it shards gradients in every "
        "micro-batch; valid values: 0, 2, 3"
    )
    assert refusal("torchtitan", sample_plan("torchtitan", dp=2, pp=2, zero=2)) == (
        "zero = 2 with pp = 2 is not possible with torchtitan: its pipeline keeps whole gradients until the last "
        "micro-batch; valid values: 0, 1"
    )
