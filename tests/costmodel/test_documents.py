"""Documents: what is written as JSON reads back as the same value; what contradicts itself is refused."""

from __future__ import annotations

import json

import pytest
from costmodel_samples import BLOCK, HEAD, cluster, model, plan, workload
from document_samples import DOCUMENTS, MEASUREMENT, PLAN_FILE, PREDICTION, PROFILE, each_document, refusal
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from costmodel.spec import (
    Block,
    Document,
    LayerRun,
    Measurement,
    ModelSpec,
    Part,
    Plan,
    PlanFile,
    Profile,
    Schedule,
    Source,
)
from costmodel.spec.shards import Shards
from tests.samples.blocks import attention_of, dense_block


@each_document
def test_json_reads_back_as_the_same_value_and_the_same_bytes(document: Document) -> None:
    text = document.to_json()
    again = type(document).from_json(text, "here")
    assert again == document
    assert again.to_json() == text


def test_every_kind_of_document_is_tried() -> None:
    assert {type(document) for document in DOCUMENTS} == set(Document.__subclasses__())


@each_document
def test_documents_are_frozen(document: Document) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(document, next(iter(type(document).model_fields)), None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tp": 0}, ("tp is 0, but must be at least 1",)),
        ({"tp": "two"}, ("tp", "'two'")),
        ({"zero": 4}, ("zero", "4")),
        ({"schedule": "zigzag"}, ("schedule", "'zigzag'", "1f1b")),
        ({"pp": 2}, ("cut has 1 stages but pp x vpp is 2",)),
        ({"cut": [4, 0], "pp": 2}, ("without layers",)),
        ({"cut": [5]}, ("cut holds 5 layers, recompute_layers 4",)),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(changes: dict[str, object], words: tuple[str, ...]) -> None:
    sentence = refusal(plan(), json.dumps(json.loads(plan().to_json()) | changes))
    assert all(word in sentence for word in words), sentence


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (lambda runs: (runs[0], runs[2]), "a model needs blocks"),
        (
            lambda runs: (runs[1], LayerRun(part=Part.HEAD, layer=HEAD.model_copy(update={"tied": True}))),
            "there is no embedding to tie it to",
        ),
        (
            lambda runs: (
                runs[0],
                runs[1],
                LayerRun(part=Part.HEAD, layer=HEAD.model_copy(update={"vocab": 11, "tied": True})),
            ),
            "table is (10, 8), but that of the head, tied to it, (11, 8)",
        ),
        (
            lambda runs: (runs[0], LayerRun(part=Part.BLOCKS, layer=dense_block(9, 2, 1, 4, 16)), runs[2]),
            "one hidden size",
        ),
    ],
)
def test_a_model_that_is_none_is_refused(runs, words: str) -> None:
    data = json.loads(model().to_json())
    data["runs"] = [run.model_dump(mode="json") for run in runs(model().runs)]
    assert words in refusal(model(), json.dumps(data))


def test_heads_that_do_not_share_key_value_heads_are_refused() -> None:
    with pytest.raises(ValidationError, match="num_heads 3 is not a multiple of num_kv_heads 2"):
        dense_block(hidden=8, num_heads=3, num_kv_heads=2, head_dim=4, ffn_hidden=16)


def test_tiers_that_do_not_grow_or_do_not_hold_the_cluster_are_refused() -> None:
    small, large = cluster().tiers
    with pytest.raises(ValidationError, match="must grow"):
        cluster(4, large, small)
    with pytest.raises(ValidationError, match="joins 4 devices, but the cluster has 5"):
        cluster(5, small)


plans = st.builds(
    plan,
    tp=st.sampled_from([1, 2]),
    dp=st.sampled_from([1, 2]),
    zero=st.sampled_from([0, 1]),
    micro_batch=st.sampled_from([1, 2]),
    schedule=st.sampled_from(Schedule),
    full=st.sampled_from([(), (1,), (2,), (1, 2)]),
)


@given(one=plans, other=plans)
def test_plans_are_equal_exactly_if_their_ids_are(one: Plan, other: Plan) -> None:
    assert (one == other) == (one.plan_id == other.plan_id)


def test_the_id_of_a_plan_survives_json() -> None:
    assert Plan.from_json(plan(dp=2).to_json(), "here").plan_id == plan(dp=2).plan_id


def test_a_plan_that_was_edited_under_its_prediction_is_refused() -> None:
    data = json.loads(PLAN_FILE.to_json())
    data["plan"]["zero"] = 3
    assert "solve or check again instead of editing the plan" in refusal(PLAN_FILE, json.dumps(data))


def test_the_question_of_a_plan_file_survives_json_and_a_later_solve() -> None:
    again = PlanFile.from_json(PLAN_FILE.to_json(), "here")
    later = again.model_copy(update={"created": "2027-01-01T00:00:00Z", "alternatives": (), "certificate": None})
    assert later.question_id == PLAN_FILE.question_id


@pytest.mark.parametrize(
    "change",
    [
        {"hf_config": PLAN_FILE.hf_config | {"rope_theta": 1e4}},
        {"model": model(num_blocks=3)},
        {"workload": workload(global_batch=8)},
        {"cluster": cluster(2)},
        {"plan": plan(dp=4, zero=1)},
        {"prediction": PREDICTION.model_copy(update={"step_time_high_s": 2 * PREDICTION.step_time_high_s})},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_question_has_another_id(change: dict[str, object]) -> None:
    assert PLAN_FILE.model_copy(update=change).question_id != PLAN_FILE.question_id


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"losses": [], "step_times_s": [], "num_warmup_steps": 0}, "losses"),
        ({"losses": [5.5]}, "1 losses but 2 step times"),
        ({"step_times_s": [0.2, 0.0]}, "step_times_s[1] is 0.0, but must be above 0"),
        ({"peak_memory_bytes": []}, "peak_memory_bytes"),
        ({"num_warmup_steps": 2}, "num_warmup_steps 2 leaves none of 2 steps"),
    ],
)
def test_a_measurement_that_no_run_can_give_is_refused(changes: dict[str, object], words: str) -> None:
    assert words in refusal(MEASUREMENT, json.dumps(json.loads(MEASUREMENT.to_json()) | changes))


@pytest.mark.parametrize(("median_s", "within"), [(0.099, False), (0.1, True), (0.12, True), (0.121, False)])
def test_the_verdict_on_a_run_follows_from_its_times_whatever_its_file_says(median_s: float, within: bool) -> None:
    measured = MEASUREMENT.model_copy(update={"step_time_median_s": median_s})
    data = json.loads(measured.to_json())
    assert data["within_interval"] is within  # predicted 0.1 to 0.12 s
    assert Measurement.from_json(json.dumps(data | {"within_interval": not within}), "here").within_interval is within


def test_recompute_of_a_plan_in_a_word() -> None:
    assert (plan().recompute, plan(full=(1, 2)).recompute, plan(full=(2,)).recompute) == ("none", "full", "mixed")


def test_stages_and_strides_of_a_plan() -> None:
    chosen = plan(num_blocks=4, tp=2, dp=3, pp=2, cut=(2, 4))
    assert [list(stage) for stage in chosen.stages] == [[0, 1], [2, 3, 4, 5]]
    assert (chosen.stride("tp"), chosen.stride("dp"), chosen.stride("pp")) == (1, 2, 6)
    assert chosen.num_ranks == 12
    assert chosen.num_microbatches(12) == 4
    with pytest.raises(ValueError, match="global batch 13"):
        chosen.num_microbatches(13)


@given(st.lists(st.sampled_from(Source), min_size=1), st.randoms())
def test_the_worst_source_is_the_last_in_the_list(sources: list[Source], order) -> None:
    ranks = list(Source)
    shuffled = sorted(sources, key=lambda _: order.random())
    assert ranks.index(Source.worst(*shuffled)) == max(ranks.index(source) for source in sources)


def test_worst_of_no_source_is_analytic() -> None:
    assert Source.worst() is Source.ANALYTIC


@given(
    tp=st.sampled_from([1, 2, 4]),
    vocab=st.integers(1, 100),
    tied=st.booleans(),
    biases=st.tuples(*[st.booleans()] * 4),
)
def test_parameters_of_the_parts_add_up(tp: int, vocab: int, tied: bool, biases: tuple[bool, ...]) -> None:
    names = ("qkv_bias", "output_bias", "mlp_bias", "qk_norm")
    block = dense_block(8, 4, 4, 4, 16, **dict(zip(names, biases, strict=True)))
    of = _with_vocab(block, vocab, tied)
    assert of.params_total == sum(of.params_by_part.values()) == sum(layer.num_params() for layer in of.layers)
    assert of.params_by_part["head"] == 8 + (0 if tied else 8 * vocab)
    # Tensor ranks hold everything together: what is split once, what is replicated and padded more than once.
    assert tp * sum(layer.num_params(Shards(tp=tp)) for layer in of.layers) >= of.params_total


def _with_vocab(block: Block, vocab: int, tied: bool) -> ModelSpec:
    first, _, last = model().runs
    embedding = first.layer.model_copy(update={"vocab": vocab})
    head = last.layer.model_copy(update={"vocab": vocab, "tied": tied})
    return model(
        runs=(
            LayerRun(part=Part.EMBEDDING, layer=embedding),
            LayerRun(part=Part.BLOCKS, layer=block, count=3),
            LayerRun(part=Part.HEAD, layer=head),
        )
    )


def test_a_profile_whose_spread_is_out_of_order_is_refused() -> None:
    data = json.loads(PROFILE.to_json())
    data["layers"][0]["forward"]["low_s"] = 1.0
    assert "not in order" in refusal(PROFILE, json.dumps(data))
    assert Profile.from_json(PROFILE.to_json(), "here") == PROFILE


def test_a_block_that_reads_more_than_the_hidden_state_ties_the_stack_together() -> None:
    assert model().is_single_stream
    shared = BLOCK.model_copy(update={"mixer": attention_of(BLOCK).model_copy(update={"reuses_kv": True})})
    for other in (shared, BLOCK.model_copy(update={"layer_input": 4})):
        assert not model(block=other).is_single_stream
