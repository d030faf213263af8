"""NCCL's cost model by hand, against its own constants and what they were published to predict."""

from __future__ import annotations

import pytest
from costmodel_samples import cluster, tier
from hypothesis import given
from hypothesis import strategies as st

from costmodel.collectives import by_formula, nccl
from costmodel.collectives.crossings import crossings
from costmodel.collectives.nccl_protocols import LL128, PROTOCOLS, SIMPLE
from costmodel.spec import Collective, LinkKind, Source, Tier

ALL_REDUCE, ALL_GATHER = Collective.ALL_REDUCE, Collective.ALL_GATHER


def nvlink(num_devices: int = 8, **changes) -> Tier:
    """18 NVLinks of 20.6 GB/s, 3.4 us a hop in the protocol for large messages."""
    return tier(num_devices, 18 * 20.6e9, 3.4e-6).model_copy(update=changes)


def network(num_devices: int = 1024) -> Tier:
    return tier(num_devices, 40e9, 14e-6).model_copy(update={"link": LinkKind.INFINIBAND})


def time_s(op: Collective, num_ranks: int, size_bytes: float, *tiers: Tier) -> float:
    spec = cluster(max(8, num_ranks), *(tiers or (nvlink(max(8, num_ranks)),)))
    return nccl.time(spec, op, num_ranks, 1, size_bytes).time_s


@pytest.mark.parametrize(
    ("op", "num_ranks", "us"), [(ALL_REDUCE, 8, 15.0), (ALL_GATHER, 8, 10.8), (ALL_REDUCE, 2, 7.8)]
)
def test_small_messages_take_the_ring_in_the_fastest_protocol(op, num_ranks, us):
    """LL: 6.6 us and 0.6 us a hop; 14 hops for 8 ranks of all-reduce, 7 of all-gather, 2 for two ranks."""
    assert time_s(op, num_ranks, 8) == pytest.approx(us * 1e-6, rel=1e-4)


def test_large_messages_take_the_ring_at_the_links_rate():
    # Simple: 8.4 us + 7 x 3.4 us, and 7/8 of 8 GiB at 370.8 GB/s.
    size = 8 * 2**30
    assert time_s(ALL_GATHER, 8, size) == pytest.approx(32.2e-6 + size * 7 / 8 / 370.8e9)


def test_a_tree_wins_for_small_all_reduces_over_many_nodes():
    # 8 x 16 ranks: a ring makes 2 x (112 hops of 1 us + 15 of 2.7 us) = 305 us; a tree 2 x (7 x 0.6 + 4 x 5) = 48.4.
    # 112 hops inside 16 nodes: 7 in each.
    assert time_s(ALL_REDUCE, 128, 8, nvlink(), network()) == pytest.approx(6.8e-6 + 48.4e-6, rel=1e-3)


def test_a_tree_over_two_nodes_sends_every_byte_once_each_way():
    # 320 GB/s of adapters, but 370.8 / 2 inside, at 0.92 and, for 2 GiB, 0.9 of it.
    size = 2**31
    depth_s = 2 * (7 * 4e-6 + 14e-6)
    expected = 8.4e-6 + depth_s + size / (0.92 * 0.9 * min(320e9, 185.4e9))
    assert nccl._tree_s(SIMPLE, crossings(cluster(16, nvlink(), network()), 16, 1)[0], size) == pytest.approx(expected)


def test_what_a_fabric_takes_beyond_infiniband_counts_in_every_protocol():
    # 10 ms of a wide-area link: one crossing of an all-gather, whatever the protocol.
    far = network().model_copy(update={"link": LinkKind.WAN, "latency_s": 10e-3})
    assert time_s(ALL_GATHER, 16, 8, nvlink(), far) == pytest.approx(6.6e-6 + 14e-6 + 2.7e-6 + 10e-3)
    # A wire of 2 us does not make NCCL's own work less.
    near = network().model_copy(update={"latency_s": 2e-6})
    assert time_s(ALL_GATHER, 16, 8, nvlink(), near) == time_s(ALL_GATHER, 16, 8, nvlink(), network())


def test_a_line_at_a_time_needs_links_that_gpus_write_to_directly():
    # Over PCIe LL128 is off: 1 MiB goes by LL or Simple, at 0.38 or all of the rate.
    pcie = nvlink().model_copy(update={"link": LinkKind.PCIE})
    assert not LL128.serves([pcie])
    assert not LL128.serves([nvlink(), network().model_copy(update={"link": LinkKind.ETHERNET})])
    assert LL128.serves([nvlink(), network()])


@given(st.sampled_from(PROTOCOLS), st.integers(1, 2**34), st.integers(1, 2**34))
def test_a_tree_never_sends_more_bytes_in_less_time(protocol, one, other):
    less, more = sorted((one, other))
    assert less / protocol.tree_size_share(less) <= more / protocol.tree_size_share(more) * (1 + 1e-12)


def test_a_ring_over_two_nodes_is_bound_by_the_adapters_of_all_its_ranks():
    # 8 links of 40 GB/s side by side: 320 GB/s, slower than 370.8 inside. 14 hops inside, one of 14 us between.
    size = 2**32
    expected = 8.4e-6 + 14 * 3.4e-6 + 14e-6 + size * 15 / 16 / 320e9
    assert time_s(ALL_GATHER, 16, size, nvlink(), network()) == pytest.approx(expected)


def test_nvls_serves_all_reduce_only_and_only_large_enough_groups():
    switched, size = nvlink(nvls_min_devices=5), 2**33
    plain, helped = time_s(ALL_REDUCE, 8, size), time_s(ALL_REDUCE, 8, size, switched)
    # 8 GiB: log2(2^33 / 64) is 27, beyond the table, whose last share is 0.9.
    assert plain / helped == pytest.approx(1.27 * 0.9, rel=1e-3)
    assert time_s(ALL_REDUCE, 4, size, switched) == time_s(ALL_REDUCE, 4, size)
    assert time_s(ALL_GATHER, 8, size, switched) == time_s(ALL_GATHER, 8, size)
    assert time_s(ALL_REDUCE, 8, 1024, switched) == time_s(ALL_REDUCE, 8, 1024)


def test_all_to_all_is_bound_by_one_adapter_across_nodes():
    # Of 1 GB, half goes to the other node over the rank's own 40 GB/s: 12.5 ms; 6.6 us and a hop before.
    spread = time_s(Collective.ALL_TO_ALL, 16, 1e9, nvlink(), network())
    assert spread == pytest.approx(12.5e-3 + 6.6e-6 + 14e-6)


def test_cpus_are_priced_by_a_line():
    # 3 hops of 1 ms, and 3/4 of 4,000 bytes at 1e6 bytes/s: 6 ms.
    assert by_formula(cluster(4), ALL_GATHER, 4, 1, 4000).time_s == pytest.approx(6e-3)


def test_the_price_is_worth_its_worst_link():
    spec = cluster(16, nvlink(), network().model_copy(update={"source": Source.ASSUMED}))
    assert nccl.time(spec, ALL_REDUCE, 8, 1, 1).source is Source.ANALYTIC
    assert nccl.time(spec, ALL_REDUCE, 16, 1, 1).source is Source.ASSUMED


@given(
    op=st.sampled_from([op for op in Collective if op is not Collective.SEND_RECV]),
    num_ranks=st.sampled_from([2, 4, 8, 16, 64]),
    size_bytes=st.integers(1, 2**34),
    more=st.integers(0, 2**30),
    factor=st.floats(1, 10),
)
def test_more_bytes_are_never_faster_and_more_bandwidth_never_slower(op, num_ranks, size_bytes, more, factor):
    inner, outer = nvlink(nvls_min_devices=5), network()
    base = time_s(op, num_ranks, size_bytes, inner, outer)
    assert time_s(op, num_ranks, size_bytes + more, inner, outer) >= base
    faster = [
        tier.model_copy(update={"bandwidth_bytes_per_s": factor * tier.bandwidth_bytes_per_s})
        for tier in (inner, outer)
    ]
    assert time_s(op, num_ranks, size_bytes, *faster) <= base * (1 + 1e-12)
