"""How far NCCL's model is off over several nodes: each published series, with nothing of it known.

The hop of the adapters comes from other series of the same fabric: EFA's of p4de from p5 and the other way round (37
and 82 us, as their presets state), Google's RoCE and TCPXO from NCCL's constant and from what sockets are assumed to
take.
"""

from __future__ import annotations

import math
import statistics

import pytest

from costmodel.collectives import by_formula, tables
from costmodel.spec import Collective, CollectiveTable, LinkKind
from planner.clusters.links import HOP_S
from planner.clusters.read import load_cluster

FROM_BYTES = 2**14
LARGE_BYTES = 2**26
HOP_OF_OTHERS_S = {
    "p4de.24xlarge": HOP_S[LinkKind.EFA],
    "p5.48xlarge": 82e-6,
    "a3-megagpu-8g": HOP_S[LinkKind.ETHERNET],
    "a3-ultragpu-8g": HOP_S[LinkKind.ROCE],
}


def series_between_nodes(name: str, op: Collective) -> CollectiveTable:
    """The longest one over several machines or racks."""
    found = [table for table in load_cluster(name, 16).spec.tables if table.collective is op]
    return max((table for table in found if (table.num_nodes or 1) > 1), key=lambda table: len(table.times))


def factors(name: str, op: Collective, least_bytes: int) -> list[float]:
    """By which factor each point is missed, either way, in rising order."""
    table = series_between_nodes(name, op)
    num_ranks = table.num_ranks or 0
    spec = load_cluster(name, num_ranks).spec
    *inner, outer = spec.tiers
    outer = outer.model_copy(update={"latency_s": HOP_OF_OTHERS_S.get(name, outer.latency_s)})
    spec = spec.model_copy(update={"tables": (), "tiers": (*inner, outer)})
    return sorted(
        math.exp(abs(math.log(by_formula(spec, op, num_ranks, 1, size).time_s / time_s)))
        for size, time_s in table.times
        if size >= least_bytes
    )


@pytest.mark.parametrize(
    ("name", "op", "median", "percentile_90", "large"),
    [
        ("p4de.24xlarge", Collective.ALL_REDUCE, 2.11, 2.62, 1.16),
        ("p5.48xlarge", Collective.ALL_REDUCE, 1.25, 1.54, 1.17),
        ("p6-b200.48xlarge", Collective.ALL_REDUCE, 1.45, 2.24, 1.20),
        ("a3-megagpu-8g", Collective.ALL_GATHER, 1.18, 1.58, 1.14),
        ("a3-ultragpu-8g", Collective.ALL_GATHER, 1.38, 2.34, 1.03),
        ("dgx-h100", Collective.ALL_REDUCE, 1.31, 1.34, 1.31),
        ("gb200-nvl72", Collective.ALL_REDUCE, 1.69, 2.33, 1.69),
    ],
)
def test_the_model_misses_series_over_nodes_by_what_the_docs_state(name, op, median, percentile_90, large):
    """From 16 KiB on the median and the 90th percentile, and the median from 64 MiB on, as docs/clusters.md quotes."""
    found = factors(name, op, FROM_BYTES)
    assert statistics.median(found) == pytest.approx(median, abs=0.01)
    assert found[round(0.9 * (len(found) - 1))] == pytest.approx(percentile_90, abs=0.01)
    assert statistics.median(factors(name, op, LARGE_BYTES)) == pytest.approx(large, abs=0.01)


@pytest.mark.parametrize("size_bytes", [2**13, 2**18, 2**20, 2**30])
def test_a_series_over_two_nodes_corrects_more_of_them(size_bytes):
    """So that 4 nodes are never cheaper than 2, whose all-reduce was measured."""
    spec = load_cluster("p5.48xlarge", 64).spec
    times = [tables.lookup(spec, Collective.ALL_REDUCE, n, 1, size_bytes) for n in (16, 32, 64)]
    found = [timed.time_s for timed in times if timed is not None]
    assert len(found) == 3
    assert found == sorted(found)
    by_model = [by_formula(spec, Collective.ALL_REDUCE, n, 1, size_bytes).time_s for n in (16, 32)]
    assert found[1] / found[0] == pytest.approx(by_model[1] / by_model[0], rel=1e-9)
