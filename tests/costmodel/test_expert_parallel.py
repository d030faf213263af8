"""Experts on ranks of their own, by hand: parameters, rows, exchanges, what ZeRO shares out."""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, cluster, model, setting, stack, view, workload
from hypothesis import given
from hypothesis import strategies as st

from costmodel import feasibility
from costmodel.predict import predict
from costmodel.spec import Block, Infeasible, Moe, Plan, Recompute, Schedule
from costmodel.spec.operations import GroupedGemm
from costmodel.spec.shards import WHOLE, Shards
from costmodel.terms import expert_exchange, tp_collectives, zero_traffic

# 4 experts of 3 x 8 x 16 = 384 parameters, of which each token meets 2; the router has 32.
MOE = Moe(hidden=8, num_experts=4, experts_per_token=2, ffn_hidden=16)
SPARSE = Block(hidden=8, mixer=BLOCK.mixer, feed_forward=MOE)


def test_a_rank_holds_its_experts_and_the_whole_router():
    assert MOE.num_params() == 4 * 384 + 32
    assert MOE.num_params(Shards(ep=4)) == 384 + 32
    # Two ranks of tensor parallelism: columns of each expert halved, or experts whole.
    assert MOE.num_params(Shards(tp=2, ep=2)) == 2 * 192 + 32
    assert MOE.num_params(Shards(tp=2, ep=2, etp=1)) == 2 * 384 + 32
    assert SPARSE.num_expert_params(Shards(ep=4)) == 384
    assert BLOCK.num_expert_params() == 0


@given(
    tp=st.sampled_from([1, 2, 4]),
    etp=st.sampled_from([None, 1, 2, 4]),
    ep=st.sampled_from([1, 2, 4]),
    batch=st.integers(1, 3),
)
def test_ranks_share_the_experts_work_evenly(tp, etp, ep, batch):
    shards = Shards(tp=tp, etp=etp, ep=ep)

    def flop(of: Shards) -> float:
        return sum(operation.flop for operation in MOE.operations(batch, 8, of) if isinstance(operation, GroupedGemm))

    # tp ranks do together what one rank without splits does of as many tokens.
    assert tp * flop(shards) == pytest.approx(flop(WHOLE))


def test_copies_go_to_their_experts_and_come_back():
    # 4 tokens x 2 experts x 8 x 2 bytes = 128 bytes; over 4 ranks 3/4 of it leaves at 1e6 bytes/s, after 1 ms. Twice.
    price = expert_exchange.price(view(SPARSE, ep=4, dp=4))
    assert price.forward_s == pytest.approx(2 * (1e-3 + 96e-6))
    assert price.backward_s == price.forward_s
    assert expert_exchange.price(view(SPARSE, dp=4)).forward_s == 0


def test_ranks_that_share_columns_gather_the_copies():
    # tp 2, ep 2: a slice has 2 tokens, 64 bytes. All-to-all over 2 ranks, 2 apart: 1 ms + 32 bytes; gather and scatter
    # of 128 bytes over 2: 1 ms + 64 bytes each.
    price = expert_exchange.price(view(SPARSE, tp=2, ep=2, dp=2))
    assert price.forward_s == pytest.approx(2 * (1e-3 + 32e-6) + 2 * (1e-3 + 64e-6))
    # Attention still gathers and scatters its input, the experts do not.
    whole, apart = (tp_collectives.price(view(SPARSE, tp=2, dp=2, **degrees)) for degrees in ({}, {"ep": 2}))
    assert apart.forward_s == pytest.approx(whole.forward_s / 2)


def test_gradients_of_experts_are_added_up_over_fewer_ranks():
    # ep 2 of dp 4: two ranks hold the same two experts, 2 apart; four the rest. 2 (n - 1) hops of 1 ms each.
    found = zero_traffic.per_step(view(SPARSE, ep=2, dp=4), 0.0).after_s
    dense, experts = SPARSE.num_params(Shards(ep=2)) - 2 * 384, 2 * 384
    over_4 = 2 * 3e-3 + 4 * dense * 2 * 3 / 4 / 1e6
    over_2 = 2 * 1e-3 + 4 * experts * 2 * 1 / 2 / 1e6
    assert found == pytest.approx(over_4 + over_2)


def test_experts_on_every_rank_travel_with_the_rest():
    # One all-reduce of everything over 4 ranks, not a second one for the experts.
    found = zero_traffic.per_step(view(SPARSE, dp=4), 0.0).after_s
    assert found == pytest.approx(2 * 3e-3 + 4 * SPARSE.num_params() * 2 * 3 / 4 / 1e6)


def test_the_optimizer_shares_out_experts_over_their_own_replicas():
    of = setting(cluster=cluster(4), workload=workload(global_batch=4), model=model(block=SPARSE))
    cut = {"cut": (4,), "recompute_layers": (Recompute.NONE,) * 4, "schedule": Schedule.GPIPE}
    plan = Plan(framework="plain", dp=4, ep=2, zero=1, **cut)
    found = predict(of.model, of.workload, of.cluster, of.stack, plan)
    assert not isinstance(found, Infeasible)
    items = {item.name: item.steady_bytes for item in found.stages[0].items}
    experts = 2 * 2 * 384  # two blocks, two experts each
    dense = of.model.params_total - 2 * 4 * 384
    assert items["weights"] == 2 * (dense + experts)
    assert items["optimizer state"] == 12 * (dense / 4 + experts / 2)


@pytest.mark.parametrize(
    ("degrees", "said", "numbers"),
    [
        ({"ep": 3, "dp": 3}, "ep = 3 does not divide num_experts = 4", (3, 4)),
        ({"ep": 2, "etp": 2, "dp": 2}, "ep x etp = 2 x 2 does not divide tp x cp x dp = 2", (4, 2)),
        ({"etp": 3, "dp": 3}, "etp = 3 does not divide moe_intermediate_size = 16", (3, 16)),
    ],
)
def test_degrees_that_do_not_divide_are_refused(degrees, said, numbers):
    plan = Plan(framework="plain", cut=(4,), recompute_layers=(Recompute.NONE,) * 4, **degrees)
    refused = feasibility.experts_splittable(model(block=SPARSE), workload(), plan)
    assert refused is not None
    assert said in refused.sentence
    assert (refused.needed, refused.limit) == numbers


@pytest.mark.parametrize("degrees", [{"ep": 2}, {"etp": 1}])
def test_experts_of_their_own_ranks_need_tokens_of_their_own(degrees):
    layout = {"framework": "plain", "tp": 2, "dp": 2, "cut": (4,), "recompute_layers": (Recompute.NONE,) * 4}
    whole, sliced = (Plan(sp=sp, **layout, **degrees) for sp in (False, True))
    refused = feasibility.experts_splittable(model(block=SPARSE), workload(), whole)
    assert refused is not None
    assert refused.rule == "experts_need_slices"
    assert (refused.needed, refused.limit) == (2, 1)
    assert refused.sentence.endswith("use sp = true, or ep = 1 and etp = tp")
    assert feasibility.experts_splittable(model(block=SPARSE), workload(), sliced) is None
    # With the columns of every expert on the ranks of tp nothing is exchanged.
    together = Plan(sp=False, **layout)
    assert feasibility.experts_splittable(model(block=SPARSE), workload(), together) is None


def test_a_dense_model_has_no_experts_to_share_out():
    plan = Plan(framework="plain", cut=(4,), recompute_layers=(Recompute.NONE,) * 4, ep=2, dp=2)
    refused = feasibility.experts_splittable(model(), workload(), plan)
    assert refused is not None
    assert refused.sentence.endswith("of which tiny has none; use ep = 1 and etp = tp")
    assert (refused.needed, refused.limit) == (None, None)


def test_what_experts_keep_falls_with_their_slices():
    kept = [MOE.saved(1, 8, shards, stack()).values for shards in (WHOLE, Shards(tp=2, ep=2, etp=1))]
    # Rows of half of the tokens, whole columns: half of it.
    assert kept[1] == pytest.approx(kept[0] / 2)
