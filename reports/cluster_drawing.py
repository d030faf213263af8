"""Draws a cluster: its machines as boxes, units of tiers inside them as frames, devices by rank, links by name.

Of many machines the first few are drawn, and the number of the others is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from costmodel import units
from costmodel.spec import ClusterSpec, Node, Tier
from reports import svg
from reports.section import Drawing
from reports.svg import Colour

MAX_MACHINES = (4, 2)
"""Drawn, of a wide and of a narrow figure; the rest is counted."""
MAX_COLUMNS = 8
"""Devices beside one another in a machine; more go below."""
MAX_DEVICES = 72
"""Drawn of one machine."""

_ROW_HEIGHT = 1.0
_HEADER = 1.1
_BAR = 0.9


def draw_cluster(cluster: ClusterSpec) -> Drawing:
    """The drawing, wide and narrow, with a description for those who do not see it."""
    heights = tuple(_height(cluster, narrow) * 52 for narrow in (False, True))
    return svg.draw(
        f"{cluster.name}: {cluster.num_devices:,} devices in {len(cluster.node_sizes):,} machines",
        ". ".join(_sentences(cluster)) + ".",
        "cluster",
        lambda figure, narrow: _paint(figure, cluster, narrow),
        (heights[0], heights[1]),
    )


def _sentences(cluster: ClusterSpec) -> Iterator[str]:
    for group in cluster.nodes:
        yield f"{group.num_nodes} x {group.node.num_devices} {group.node.device.name}"
    for tier in cluster.tiers:
        yield f"{tier.name}: {_link(tier)}"


def _link(tier: Tier) -> str:
    return f"{tier.link.value}, {units.format_rate(tier.bandwidth_bytes_per_s)} per device"


def _machines(cluster: ClusterSpec, narrow: bool) -> list[tuple[Node, int]]:
    """The machines to draw, each with its first rank; of every kind at least one where there is room."""
    machines, first = [], 0
    for group in cluster.nodes:
        for index in range(group.num_nodes):
            machines.append((index, group.node, first))
            first += group.node.num_devices
    # One of each kind first, then more of them, in the order of the ranks.
    chosen = sorted(machines, key=lambda machine: machine[0])[: MAX_MACHINES[narrow]]
    return [(node, rank) for _, node, rank in sorted(chosen, key=lambda machine: machine[2])]


def _rows(node: Node) -> int:
    return -(-min(node.num_devices, MAX_DEVICES) // MAX_COLUMNS)


def _outer(cluster: ClusterSpec) -> list[Tier]:
    """Tiers that join machines, drawn as bars below them."""
    return [tier for tier in cluster.tiers if tier.num_devices > cluster.devices_per_node]


def _height(cluster: ClusterSpec, narrow: bool) -> float:
    deepest = max(_rows(node) for node, _ in _machines(cluster, narrow))
    return _HEADER + deepest * _ROW_HEIGHT + 0.9 + _BAR * len(_outer(cluster)) + 0.3


def _paint(figure: Figure, cluster: ClusterSpec, narrow: bool) -> None:
    axes = figure.subplots()
    axes.set_axis_off()
    machines = _machines(cluster, narrow)
    left = len(cluster.node_sizes) - len(machines)
    columns = len(machines) + (0.45 if left else 0)
    height = _height(cluster, narrow)
    axes.set_xlim(0, columns * (MAX_COLUMNS + 1))
    axes.set_ylim(height, 0)
    deepest = max(_rows(node) for node, _ in machines)
    bottom = _HEADER + deepest * _ROW_HEIGHT + 0.5
    for place, (node, rank) in enumerate(machines):
        _machine(axes, cluster, node, rank, place * (MAX_COLUMNS + 1) + 0.25, bottom)
    if left:
        x = len(machines) * (MAX_COLUMNS + 1) + 0.3
        axes.text(x, bottom / 2 + 0.3, f"and {left:,} more", color=Colour.MUTED, va="center")
    for index, tier in enumerate(_outer(cluster)):
        _bar(axes, tier, bottom + 0.35 + index * _BAR, columns * (MAX_COLUMNS + 1) - 0.25)


def _machine(axes: Axes, cluster: ClusterSpec, node: Node, first: int, x: float, bottom: float) -> None:
    _box(axes, x, 0.15, MAX_COLUMNS + 0.5, bottom - 0.15, Colour.LINE, Colour.IDLE)
    title = node.name or node.device.name
    axes.text(x + 0.25, 0.5, title, va="center", fontsize="small")
    inside = [tier for tier in cluster.tiers if tier.num_devices <= cluster.devices_per_node]
    if inside:
        axes.text(x + 0.25, 0.95, _link(inside[-1]), va="center", color=Colour.MUTED, fontsize="x-small")
    shown = min(node.num_devices, MAX_DEVICES)
    for place in range(shown):
        column, row = place % MAX_COLUMNS, place // MAX_COLUMNS
        _device(axes, x + 0.25 + column, _HEADER + 0.2 + row * _ROW_HEIGHT, first + place)
    for tier in inside[:-1]:
        _frames(axes, cluster, tier, first, shown, x)
    if node.nics is not None:
        text = f"{node.nics.count} adapters, {units.format_rate(node.nics.bandwidth_bytes_per_s)} each"
        axes.text(x + MAX_COLUMNS + 0.2, bottom - 0.2, text, ha="right", va="center", fontsize="x-small")
    if shown < node.num_devices:
        axes.text(x + 0.25, bottom - 0.2, f"and {node.num_devices - shown} more", va="center", fontsize="x-small")


def _device(axes: Axes, x: float, y: float, rank: int) -> None:
    _box(axes, x + 0.08, y, 0.84, 0.7, Colour.EDGE, Colour.SKY)
    axes.text(x + 0.5, y + 0.37, str(rank), ha="center", va="center", color=Colour.ON_FILL, fontsize="x-small")


def _frames(axes: Axes, cluster: ClusterSpec, tier: Tier, first: int, shown: int, x: float) -> None:
    """Frames around the devices of each unit of an inner tier, row by row."""
    start = 0
    for size in tier.sizes(cluster.num_devices):
        for row in range(-(-shown // MAX_COLUMNS)):
            ranks = _overlap(range(start, start + size), first + row * MAX_COLUMNS, min(MAX_COLUMNS, shown))
            if ranks and ranks.start < first + shown:
                column, y = ranks.start - first - row * MAX_COLUMNS, _HEADER + 0.1 + row * _ROW_HEIGHT
                _box(axes, x + 0.25 + column + 0.02, y, len(ranks) - 0.04, 0.9, Colour.BLUE, None)
        start += size


def _overlap(unit: Sequence[int], start: int, length: int) -> range:
    return range(max(unit[0], start), min(unit[-1] + 1, start + length))


def _bar(axes: Axes, tier: Tier, y: float, width: float) -> None:
    _box(axes, 0.25, y, width - 0.25, 0.55, Colour.LINE, Colour.BAND)
    axes.text(0.6, y + 0.28, f"{tier.name}: {_link(tier)}", va="center", color=Colour.INK, fontsize="small")


def _box(axes: Axes, x: float, y: float, width: float, height: float, edge: Colour, fill: Colour | None) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.12",
            edgecolor=edge.value,
            facecolor="none" if fill is None else fill.value,
            linewidth=1.2,
        )
    )
