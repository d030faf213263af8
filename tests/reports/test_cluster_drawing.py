"""A cluster as a drawing: what is drawn, what is counted, and that names in it are text."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from report_parts import h100s

from costmodel.spec import ClusterSpec, LinkKind, Nics, Node, NodeGroup, Source, Tier
from reports.cluster_drawing import draw_cluster
from reports.svg import standalone

ISLAND = Tier(
    name="island",
    num_devices=2,
    link=LinkKind.NVLINK,
    bandwidth_bytes_per_s=1e11,
    latency_s=1e-6,
    source=Source.ASSUMED,
)


def texts(cluster: ClusterSpec, *, narrow: bool = False) -> list[str]:
    drawing = draw_cluster(cluster)
    root = ElementTree.fromstring(standalone(drawing.narrow if narrow else drawing.wide))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return [element.text or "" for element in root.iter() if element.tag.endswith("text")]


def test_devices_carry_their_ranks_and_links_their_rates() -> None:
    written = texts(h100s(16))
    assert [text for text in written if text.isdigit()] == [str(rank) for rank in range(16)]
    assert "cluster: infiniband, 50 GB/s per GPU" in written
    assert "node: nvlink, 450 GB/s per GPU, inside machines" in written
    assert "h100-sxm: 16 GPUs in 2 machines" in written


@pytest.mark.parametrize(("narrow", "num_drawn", "left"), [(False, 4, 252), (True, 2, 254)])
def test_of_many_machines_the_first_are_drawn_and_the_others_counted(narrow: bool, num_drawn: int, left: int) -> None:
    written = texts(h100s(2048), narrow=narrow)
    assert sum(text.isdigit() for text in written) == 8 * num_drawn
    assert f"and {left} more machines" in written


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
    plain, framed = h100s(16), h100s(16).with_tiers(ISLAND, *h100s(16).tiers)
    assert draw_cluster(framed).wide.count("<path") - draw_cluster(plain).wide.count("<path") >= 8


def test_the_same_cluster_gives_the_same_bytes() -> None:
    assert draw_cluster(h100s(16)).wide == draw_cluster(h100s(16)).wide


def test_sites_adapters_and_ranks_that_are_too_long_are_written() -> None:
    nics = Nics(count=1, bandwidth_bytes_per_s=12.5e9, link=LinkKind.ROCE)
    far = Node(device=h100s(1).device, num_devices=8, site="Rome", nics=nics)
    near = far.model_copy(update={"site": "Paris", "nics": None})
    nodes = (NodeGroup(num_nodes=1250, node=near), NodeGroup(num_nodes=1, node=far))
    tiers = (h100s(16).tiers[0], h100s(16).tiers[1].model_copy(update={"num_devices": 10_008}))
    written = texts(ClusterSpec(name="sites", nodes=nodes, tiers=tiers))
    assert {"at Paris", "at Rome", "1 roce adapter, 12.5 GB/s", "ranks 10000 to 10007"} <= set(written)
    assert "10000" not in written


def placed(picture: str) -> list[tuple[float, float, float, float]]:
    """Left, right, and height of every text, with its size, as a page with a narrow font would show it."""
    found = []
    root = ElementTree.fromstring(picture)
    width = float(root.attrib["viewBox"].split()[2])
    for element in root.iter():
        if element.tag.endswith("text") and element.text:
            style = element.attrib["style"]
            size = float(style.partition("font-size: ")[2].partition("px")[0])
            where = element.attrib.get("transform", "")
            x = float(element.attrib.get("x") or where.partition("translate(")[2].split()[0])
            y = float(element.attrib.get("y") or where.partition("translate(")[2].split()[1].rstrip(")"))
            length = 0.58 * size * len(element.text)
            left = x - length / 2 if "middle" in style else x
            found.append((left, left + length, y, size))
            assert size >= 10
            assert -1 <= left <= left + length <= width + 1, element.text
    return found


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("num_gpus", [8, 16, 2048])
def test_texts_are_large_enough_and_lie_beside_one_another(narrow: bool, num_gpus: int) -> None:
    drawing = draw_cluster(h100s(num_gpus).with_tiers(ISLAND, *h100s(num_gpus).tiers))
    boxes = placed(standalone(drawing.narrow if narrow else drawing.wide))
    for index, (left, right, y, size) in enumerate(boxes):
        for other_left, other_right, other_y, _ in boxes[:index]:
            assert abs(y - other_y) >= size or right <= other_left + 1 or other_right <= left + 1
