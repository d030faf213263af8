"""Plans with several stages on a pipeline rank: what they take, what they hold, what is refused."""

from __future__ import annotations

import pytest
from costmodel_samples import cluster, model, setting, workload

from costmodel.feasibility import chunks_in_turns, planned_axes
from costmodel.predict import predict, timeline_of
from costmodel.spec import Infeasible, Plan, Prediction, Recompute, Schedule, Workload
from costmodel.stage_price import together

# 6 blocks between embedding and head: 8 layers on 2 ranks, in 2 stages each.
OF = setting(model=model(num_blocks=6), workload=workload(global_batch=4), cluster=cluster(2))
NONE = (Recompute.NONE,) * 8


def predicted(**degrees) -> Prediction:
    plan = Plan(framework="plain", recompute_layers=NONE, **degrees)
    found = predict(OF.model, OF.workload, OF.cluster, OF.stack, plan)
    assert not isinstance(found, Infeasible)
    return found


def test_terms_add_up_and_chunks_shorten_the_wait():
    flat = predicted(pp=2, cut=(4, 4))
    chunks = predicted(pp=2, vpp=2, cut=(2, 2, 2, 2), schedule=Schedule.INTERLEAVED)
    assert sum(term.time_s for term in chunks.terms) == pytest.approx(chunks.step_time_s)
    assert chunks.bubble_frac < flat.bubble_frac
    # The same layers on each rank but for their order: embedding on the first, head on the last.
    weights = [[item.steady_bytes for item in stage.items if item.name == "weights"] for stage in chunks.stages]
    assert weights == [[item.steady_bytes for item in stage.items if item.name == "weights"] for stage in flat.stages]


def test_a_rank_holds_the_activations_of_both_of_its_stages():
    chunks = predicted(pp=2, vpp=2, cut=(2, 2, 2, 2), schedule=Schedule.INTERLEAVED)
    kept = [item.steady_bytes for stage in chunks.stages for item in stage.items if item.name == "activations"]
    # Rank 0 holds 2 (pp - 1) + (v - 1) pp + 1 = 5 passes: 3 of its first stage (embedding and a block of 960 bytes) and
    # 2 of its second (two blocks). Embedding: 4 token numbers of 8 bytes.
    assert kept[0] == 3 * (32 + 960) + 2 * 2 * 960


def test_the_timeline_has_every_stage():
    plan = Plan(framework="plain", pp=2, vpp=2, cut=(2, 2, 2, 2), schedule=Schedule.INTERLEAVED, recompute_layers=NONE)
    timeline = timeline_of(OF.model, OF.workload, OF.cluster, OF.stack, plan)
    assert {action.stage for action in timeline.actions} == {0, 1, 2, 3}
    assert {action.rank for action in timeline.actions if action.stage in (0, 2)} == {0}


@pytest.mark.parametrize(
    ("batch", "degrees", "said", "numbers"),
    [
        (4, {"vpp": 4, "cut": (2, 2, 2, 2), "schedule": Schedule.INTERLEAVED}, "but pp is 1; use vpp = 1", (4, 1)),
        (4, {"pp": 2, "vpp": 2, "cut": (2, 2, 2, 2)}, "but schedule 1f1b has one", (2, 1)),
        (4, {"pp": 2, "cut": (4, 4), "schedule": Schedule.INTERLEAVED}, "but vpp is 1", (2, 1)),
        (
            3,
            {"pp": 2, "vpp": 2, "cut": (2, 2, 2, 2), "schedule": Schedule.INTERLEAVED},
            "in groups of pp = 2, but there are 3",
            (2, 3),
        ),
    ],
)
def test_schedules_and_stages_that_do_not_agree_are_refused(batch, degrees, said, numbers):
    plan = Plan(framework="plain", recompute_layers=NONE, **degrees)
    refused = chunks_in_turns(OF.model, Workload(global_batch=batch, seq_len=4), plan)
    assert refused is not None
    assert said in refused.sentence
    assert (refused.needed, refused.limit) == numbers


@pytest.mark.parametrize(
    ("degrees", "said", "numbers"),
    [
        ({"cp": 2}, "cp = 2 is priced, but neither trained with nor handed to a framework yet; use cp = 1", (2, 1)),
        ({"ep": 4, "dp": 4}, "ep = 4 is priced", (4, 1)),
        ({"tp": 2, "etp": 1}, "etp = 1 is priced, but neither trained with nor handed to a framework yet; "
         "use etp = 2", (1, 2)),
        ({"pp": 2, "vpp": 2, "cut": (2, 2, 2, 2)}, "vpp = 2 is priced", (2, 1)),
        ({"tp": 2, "sp": False}, "sp = false with tp = 2 is priced", (2, 1)),
    ],
)  # fmt: skip
def test_what_is_priced_alone_is_told_with_the_degree_at_fault(degrees, said, numbers):
    plan = Plan(framework="plain", recompute_layers=NONE, **{"cut": (8,), **degrees})
    refused = planned_axes(OF.model, OF.workload, plan)
    assert refused is not None
    assert refused.sentence.startswith(said)
    assert (refused.needed, refused.limit) == numbers


def test_one_stage_is_itself():
    from costmodel.layer_price import price_layers
    from costmodel.setting import Mesh
    from costmodel.stage_price import stage_price

    mesh = Mesh(tp=1, pp=1, dp=2, zero=0, micro_batch=1, num_microbatches=2, schedule=Schedule.GPIPE)
    price = stage_price(price_layers(OF, mesh), NONE)
    assert together([price]) is price
    twice = together([price, price])
    assert twice.forward_s == 2 * price.forward_s
    assert {name: share.step_s for name, share in twice.shares.items()} == {
        name: 2 * share.step_s for name, share in price.shares.items()
    }
