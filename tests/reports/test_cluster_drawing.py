"""A cluster as a drawing: what is drawn, what is counted, and that names in it are text."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from report_parts import h100s

from costmodel.spec import ClusterSpec, LinkKind, Node, NodeGroup, Source, Tier
from reports.cluster_drawing import draw_cluster
from reports.svg import standalone


def texts(cluster: ClusterSpec, *, narrow: bool = False) -> list[str]:
    drawing = draw_cluster(cluster)
    root = ElementTree.fromstring(standalone(drawing.narrow if narrow else drawing.wide))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return [element.text or "" for element in root.iter() if element.tag.endswith("text")]


def test_devices_carry_their_ranks_and_links_their_rates() -> None:
    written = texts(h100s(16))
    assert [text for text in written if text.isdigit()] == [str(rank) for rank in range(16)]
    assert "cluster: infiniband, 50 GB/s per device" in written
    assert "nvlink, 450 GB/s per device" in written


@pytest.mark.parametrize(("narrow", "num_drawn", "left"), [(False, 4, "and 252 more"), (True, 2, "and 254 more")])
def test_of_many_machines_the_first_are_drawn_and_the_others_counted(narrow: bool, num_drawn: int, left: str) -> None:
    written = texts(h100s(2048), narrow=narrow)
    assert sum(text.isdigit() for text in written) == 8 * num_drawn
    assert left in written


def test_machines_of_every_kind_are_drawn() -> None:
    device = h100s(1).device
    few = Node(name="few <b>", device=device, num_devices=2)
    nodes = (NodeGroup(num_nodes=20, node=Node(device=device, num_devices=8)), NodeGroup(num_nodes=1, node=few))
    sizes = (8,) * 20 + (2,)
    inside, outside = h100s(16).tiers
    spec = ClusterSpec(
        name="two kinds",
        nodes=nodes,
        tiers=(inside.model_copy(update={"unit_sizes": sizes}), outside.model_copy(update={"num_devices": 162})),
    )
    written = texts(spec)
    assert "few <b>" in written
    assert {"0", "160", "161"} <= set(written)


def test_inner_units_are_framed() -> None:
    pair = Tier(
        name="island",
        num_devices=2,
        link=LinkKind.NVLINK,
        bandwidth_bytes_per_s=1e11,
        latency_s=1e-6,
        source=Source.ASSUMED,
    )
    plain, framed = h100s(16), h100s(16).with_tiers(pair, *h100s(16).tiers)
    assert draw_cluster(framed).wide.count("<path") - draw_cluster(plain).wide.count("<path") >= 8


def test_the_same_cluster_gives_the_same_bytes() -> None:
    assert draw_cluster(h100s(16)).wide == draw_cluster(h100s(16)).wide
