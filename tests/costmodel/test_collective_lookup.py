"""Measured tables of a cluster: what was measured, between the sizes, beyond them, and over other numbers of ranks."""

from __future__ import annotations

import pytest
from costmodel_samples import cluster, tier

from costmodel.collectives import by_formula, tables
from costmodel.collectives.sizes import interpolate
from costmodel.spec import ClusterSpec, Collective, CollectivePoint, CollectiveTable, DeviceKind, LinkKind, Source

ALL_GATHER = Collective.ALL_GATHER
NVLINK = tier(8, 370e9, 3.4e-6)
NETWORK = tier(1024, 40e9, 14e-6).model_copy(update={"link": LinkKind.INFINIBAND})


def table(num_ranks: int, times: dict[int, float], *, source: Source = Source.MEASURED, **facts) -> CollectiveTable:
    points = tuple(CollectivePoint(bytes=size, time_s=time_s, busbw_bytes_per_s=1e9) for size, time_s in times.items())
    return CollectiveTable(collective=ALL_GATHER, num_ranks=num_ranks, samples=points, source=source, **facts)


def measured(*found: CollectiveTable, num_devices: int = 16) -> ClusterSpec:
    return cluster(num_devices, NVLINK, NETWORK, kind=DeviceKind.CUDA).model_copy(update={"tables": found})


def formula_s(num_ranks: int, size: int) -> float:
    return by_formula(measured(), ALL_GATHER, num_ranks, 1, size).time_s


def test_a_size_that_was_measured():
    found = tables.lookup(measured(table(8, {1000: 1e-5, 4000: 4e-5})), ALL_GATHER, 8, 1, 1000)
    assert (found.time_s, found.source) == (1e-5, Source.MEASURED)


def test_between_two_sizes_the_logarithms_count():
    # 2,000 is half way from 1,000 to 4,000 in log, so the time is the geometric mean of 10 and 40 us.
    found = tables.lookup(measured(table(8, {1000: 1e-5, 4000: 4e-5})), ALL_GATHER, 8, 1, 2000)
    assert found.time_s == pytest.approx(2e-5)
    assert found.source is Source.FITTED


def test_beyond_the_sizes_the_model_goes_on_from_the_nearest():
    spec = measured(table(8, {2**20: 3e-5}))
    found = tables.lookup(spec, ALL_GATHER, 8, 1, 2**30)
    assert found.time_s == pytest.approx(3e-5 / formula_s(8, 2**20) * formula_s(8, 2**30))


def test_another_number_of_ranks_takes_the_ratio_of_its_neighbours():
    # Twice the model for 2 ranks and as long as the model for 8: for 4, half way in log, the root of 2.
    spec = measured(table(2, {2**20: 2 * formula_s(2, 2**20)}), table(8, {2**20: formula_s(8, 2**20)}))
    found = tables.lookup(spec, ALL_GATHER, 4, 1, 2**20)
    assert found.time_s == pytest.approx(2**0.5 * formula_s(4, 2**20))
    assert found.source is Source.ANALYTIC  # as the link between them


def test_a_published_table_is_not_a_measurement_here():
    found = tables.lookup(measured(table(8, {1000: 1e-5}, source=Source.ANALYTIC)), ALL_GATHER, 8, 1, 1000)
    assert found.source is Source.ANALYTIC


def test_a_table_speaks_for_groups_that_lie_alike():
    spec = measured(table(8, {2**20: 1e-3}), table(16, {2**20: 2e-3}, num_nodes=2))
    assert tables.lookup(spec, ALL_GATHER, 8, 1, 2**20).time_s == 1e-3
    assert tables.lookup(spec, ALL_GATHER, 16, 1, 2**20).time_s == 2e-3
    # Two ranks on each of two machines meet the network like no table does.
    assert tables.lookup(spec, ALL_GATHER, 2, 8, 2**20) is None
    assert tables.lookup(spec, Collective.ALL_REDUCE, 8, 1, 2**20) is None


def test_more_ranks_than_a_machine_holds_lie_on_several_though_no_host_is_listed():
    spec = measured(table(16, {2**20: 2e-3}))
    assert tables.lookup(spec, ALL_GATHER, 16, 1, 2**20).time_s == 2e-3
    assert tables.lookup(spec, ALL_GATHER, 8, 1, 2**20) is None


def test_what_is_wrong_or_idle_is_not_looked_up():
    wrong = CollectivePoint(bytes=2**20, time_s=1e-9, busbw_bytes_per_s=1e9, num_wrong=3)
    idle = CollectivePoint(bytes=2**21, time_s=1e-9, busbw_bytes_per_s=0.0)
    good = CollectivePoint(bytes=2**22, time_s=1e-3, busbw_bytes_per_s=1e9)
    found = table(8, {1: 1.0}).model_copy(update={"samples": (wrong, idle, good)})
    assert found.times == ((2**22, 1e-3),)
    assert tables.lookup(measured(found), ALL_GATHER, 8, 1, 2**22).time_s == 1e-3
    unusable = table(8, {1: 1.0}).model_copy(update={"samples": (wrong, idle)})
    assert tables.lookup(measured(unusable), ALL_GATHER, 8, 1, 2**22) is None


def test_a_time_that_a_disturbance_made_longer_than_a_larger_message_is_no_measurement():
    disturbed = table(8, {1000: 5e-3, 2000: 1e-5, 4000: 3e-5})
    assert disturbed.times == ((1000, 1e-5), (2000, 1e-5), (4000, 3e-5))
    assert tables.lookup(measured(disturbed), ALL_GATHER, 8, 1, 1000).source is Source.FITTED
    assert tables.lookup(measured(disturbed), ALL_GATHER, 8, 1, 2000).source is Source.MEASURED


def test_of_a_size_that_was_measured_three_times_the_median_counts():
    points = tuple(CollectivePoint(bytes=1000, time_s=time_s, busbw_bytes_per_s=1e9) for time_s in (3e-5, 9e-5, 4e-5))
    assert table(8, {1: 1.0}).model_copy(update={"samples": points}).times == ((1000, 4e-5),)


def pairs_of_nvlink(*found: CollectiveTable) -> ClusterSpec:
    """Four devices in two pairs of 200 GB/s, with 10 GB/s across."""
    across = tier(4, 10e9, 5.7e-6).model_copy(update={"link": LinkKind.PCIE})
    spec = cluster(4, tier(2, 200e9, 3.4e-6), across, kind=DeviceKind.CUDA)
    return spec.model_copy(update={"tables": found})


def test_a_table_of_one_link_does_not_speak_for_another():
    spec = pairs_of_nvlink(table(2, {2**20: 1e-3}))
    assert tables.lookup(spec, ALL_GATHER, 2, 1, 2**20).time_s == 1e-3
    assert tables.lookup(spec, ALL_GATHER, 2, 2, 2**20) is None
    # Nor does one of the whole machine for a pair.
    assert tables.lookup(pairs_of_nvlink(table(4, {2**20: 1e-3})), ALL_GATHER, 2, 1, 2**20) is None


def test_a_table_over_machines_whose_other_devices_were_idle_does_not_speak():
    # One rank on each of two machines had their adapters to itself.
    spec = measured(table(2, {2**20: 1e-3}, num_nodes=2))
    assert tables.lookup(spec, ALL_GATHER, 2, 8, 2**20) is None


def test_a_table_over_two_machines_corrects_the_model_of_four():
    spec = measured(table(16, {2**20: 3 * formula_s(16, 2**20)}, num_nodes=2), num_devices=32)
    found = tables.lookup(spec, ALL_GATHER, 32, 1, 2**20)
    assert found.time_s == pytest.approx(3 * by_formula(spec, ALL_GATHER, 32, 1, 2**20).time_s)


def test_a_message_between_two_speaks_for_every_pipeline_inside_a_machine():
    # As sendrecv_perf prints it for two ranks: 1 ms for each of 3 hops.
    spec = measured(table(2, {2**20: 1e-3}).model_copy(update={"collective": Collective.SEND_RECV}))
    assert tables.lookup(spec, Collective.SEND_RECV, 4, 2, 2**20).time_s == pytest.approx(1e-3)


def test_times_between_and_beyond_sizes():
    times = ((1000, 1e-5), (4000, 4e-5))
    assert interpolate(times, 10) == 1e-5
    assert interpolate(times, 2000) == pytest.approx(2e-5)
    assert interpolate(times, 8000) == pytest.approx(8e-5)
