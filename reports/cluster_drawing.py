"""Draws a cluster: its machines as boxes, units of tiers inside them as frames, devices by rank, links by name.

Of many machines the first few are drawn, and the number of the others is written. Coordinates are pixels from the top
left, so that what fits is reckoned before it is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from costmodel import units
from costmodel.spec import ClusterSpec, Node, Tier
from reports import svg
from reports.section import Drawing
from reports.svg import NARROW_PX, WIDE_PX, Colour

MAX_MACHINES = (4, 2)
"""Drawn, of a wide and of a narrow figure; the rest is counted."""
MAX_COLUMNS = 8
"""Devices beside one another in a machine; more go below."""
MAX_DEVICES = 72
"""Drawn of one machine."""

TEXT_PX = 10.5
TITLE_PX = 13.0
CHAR_FRAC = 0.58
"""Width of a character as a share of its height, in the fonts of pages."""
FRAMES = (Colour.BLUE, Colour.ORANGE, Colour.GREEN, Colour.PURPLE)
"""Of tiers inside a machine, the innermost first."""

_MARGIN = 6.0
_LINE = 15.0
_ROW = 26.0
_BAR = 26.0
_TOP = 30.0
"""Where machines begin, below the title."""


def draw_cluster(cluster: ClusterSpec) -> Drawing:
    """The drawing, wide and narrow, with a description for those who do not see it."""
    wide, narrow = _Sheet.of(cluster, narrow=False), _Sheet.of(cluster, narrow=True)
    return svg.draw(
        _title(cluster),
        ". ".join(_sentences(cluster)) + ".",
        "cluster",
        lambda figure, is_narrow: _paint(figure, narrow if is_narrow else wide),
        (wide.height, narrow.height),
    )


def _title(cluster: ClusterSpec) -> str:
    devices = units.counted(cluster.num_devices, cluster.device_noun)
    return f"{cluster.name}: {devices} in {units.counted(len(cluster.node_sizes), 'machine')}"


def _sentences(cluster: ClusterSpec) -> Iterator[str]:
    for group in cluster.nodes:
        machines = units.counted(group.num_nodes, "machine")
        at_site = f" at {group.node.site}" if group.node.site else ""
        yield f"{machines} of {group.node.num_devices} x {group.node.device.name}{at_site}"
    for tier in cluster.tiers:
        yield _link(cluster, tier)


def _link(cluster: ClusterSpec, tier: Tier) -> str:
    rate = units.format_rate(tier.bandwidth_bytes_per_s)
    return f"{tier.name}: {tier.link.value}, {rate} per {cluster.device_noun}"


@dataclass(frozen=True)
class _Sheet:
    """What is drawn, and where it lies."""

    cluster: ClusterSpec
    width: float
    machines: tuple[tuple[Node, int], ...]
    """Each with its first rank."""

    @classmethod
    def of(cls, cluster: ClusterSpec, *, narrow: bool) -> _Sheet:
        """The first machines of `cluster`, of every kind at least one where there is room."""
        machines: list[tuple[int, Node, int]] = []
        first = 0
        for group in cluster.nodes:
            size = group.node.num_devices
            # More than can be drawn of one kind need not be listed.
            listed = range(min(group.num_nodes, MAX_MACHINES[narrow]))
            machines += [(index, group.node, first + index * size) for index in listed]
            first += group.num_devices
        # One of each kind first, then more of them, in the order of the ranks.
        chosen = sorted(machines, key=lambda machine: machine[0])[: MAX_MACHINES[narrow]]
        drawn = tuple((node, rank) for _, node, rank in sorted(chosen, key=lambda machine: machine[2]))
        return cls(cluster, NARROW_PX if narrow else WIDE_PX, drawn)

    @property
    def framed(self) -> tuple[Tier, ...]:
        """Tiers whose units are parts of a machine, the innermost first."""
        return tuple(tier for tier in self.cluster.tiers if tier.num_devices < self.cluster.devices_per_node)

    @property
    def box_width(self) -> float:
        """Of a machine, as wide as four side by side at most."""
        return min((self.width - _MARGIN) / len(self.machines), self.width / 2) - _MARGIN

    @property
    def pitch(self) -> float:
        """From one device to the next."""
        return (self.box_width - 2 * _MARGIN) / MAX_COLUMNS

    @property
    def inset(self) -> float:
        """Of a device in its place, which leaves room for the frames around it."""
        return 1.5 + 2 * len(self.framed)

    def fitted(self, text: str, width: float, size: float = TEXT_PX) -> str:
        """`text`, cut where it is wider than `width`."""
        most = int(width / (CHAR_FRAC * size))
        return text if len(text) <= most else f"{text[: max(1, most - 1)]}\u2026"

    def are_ranks_written(self, node: Node, first: int) -> bool:
        """Whether the ranks of a machine fit into its devices."""
        return len(str(first + node.num_devices - 1)) * CHAR_FRAC * TEXT_PX <= self.pitch - 2 * self.inset

    def lines(self, node: Node, first: int) -> list[str]:
        """What is written of a machine above its devices."""
        found = [node.name] if node.name else []
        found.append(f"{node.num_devices} x {node.device.name}")
        if node.site:
            found.append(f"at {node.site}")
        if node.nics is not None:
            adapters = units.counted(node.nics.count, f"{node.nics.link.value} adapter")
            found.append(f"{adapters}, {units.format_rate(node.nics.bandwidth_bytes_per_s)}")
        if not self.are_ranks_written(node, first):
            last = first + node.num_devices - 1
            found.append(f"rank {first}" if first == last else f"ranks {first} to {last}")
        if node.num_devices > MAX_DEVICES:
            found.append(f"{node.num_devices - MAX_DEVICES} more not drawn")
        return found

    @property
    def devices_top(self) -> float:
        """Where devices begin: below the lines of the machine that has most."""
        return _TOP + _MARGIN + _LINE * max(len(self.lines(node, first)) for node, first in self.machines)

    @property
    def machines_bottom(self) -> float:
        """Where machines end."""
        return self.devices_top + _ROW * max(_num_rows(node) for node, _ in self.machines) + _MARGIN

    @property
    def num_left(self) -> int:
        """Machines that are not drawn."""
        return len(self.cluster.node_sizes) - len(self.machines)

    @property
    def bars_top(self) -> float:
        """Where links begin."""
        return self.machines_bottom + (_LINE + _MARGIN if self.num_left else 0) + _MARGIN

    @property
    def height(self) -> float:
        """Of all."""
        return self.bars_top + _BAR * len(self.cluster.tiers) + _MARGIN


def _num_rows(node: Node) -> int:
    return -(-min(node.num_devices, MAX_DEVICES) // MAX_COLUMNS)


def _paint(figure: Figure, sheet: _Sheet) -> None:
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, sheet.width)
    axes.set_ylim(sheet.height, 0)
    title = sheet.fitted(_title(sheet.cluster), sheet.width - 2 * _MARGIN, TITLE_PX)
    axes.text(_MARGIN, _TOP / 2, title, va="center", fontsize=TITLE_PX)
    for place, (node, first) in enumerate(sheet.machines):
        _machine(axes, sheet, node, first, _MARGIN + place * (sheet.box_width + _MARGIN))
    if sheet.num_left:
        text = f"and {units.counted(sheet.num_left, 'more machine')}"
        _text(axes, _MARGIN, sheet.machines_bottom + _MARGIN + _LINE / 2, text, Colour.MUTED)
    for index, tier in enumerate(sheet.cluster.tiers):
        _bar(axes, sheet, tier, sheet.bars_top + index * _BAR)


def _machine(axes: Axes, sheet: _Sheet, node: Node, first: int, x: float) -> None:
    _box(axes, x, _TOP, sheet.box_width, sheet.machines_bottom - _TOP, Colour.LINE, Colour.IDLE)
    for index, text in enumerate(sheet.lines(node, first)):
        colour = Colour.MUTED if index else Colour.INK
        shown = sheet.fitted(text, sheet.box_width - 2 * _MARGIN)
        _text(axes, x + _MARGIN, _TOP + _MARGIN / 2 + _LINE * (index + 0.5), shown, colour)
    num_shown = min(node.num_devices, MAX_DEVICES)
    for place in range(num_shown):
        row, column = divmod(place, MAX_COLUMNS)
        left, top = x + _MARGIN + column * sheet.pitch, sheet.devices_top + row * _ROW
        width, height = sheet.pitch - 2 * sheet.inset, _ROW - 2 * sheet.inset
        _box(axes, left + sheet.inset, top + sheet.inset, width, height, Colour.EDGE, Colour.SKY)
        if sheet.are_ranks_written(node, first):
            _text(axes, left + sheet.pitch / 2, top + _ROW / 2, str(first + place), Colour.ON_FILL, ha="center")
    for level, tier in enumerate(sheet.framed):
        for row in range(_num_rows(node)):
            start = row * MAX_COLUMNS
            for part in _parts(sheet.cluster, tier, first + start, min(MAX_COLUMNS, num_shown - start)):
                _frame(axes, sheet, level, part, x + _MARGIN, sheet.devices_top + row * _ROW)


def _parts(cluster: ClusterSpec, tier: Tier, first: int, length: int) -> Iterator[range]:
    """What units of `tier` hold of the `length` devices from `first`, by their places there."""
    start = 0
    for size in tier.sizes(cluster.num_devices):
        part = range(max(start, first) - first, min(start + size, first + length) - first)
        if part:
            yield part
        start += size
        if start >= first + length:
            return


def _frame(axes: Axes, sheet: _Sheet, level: int, part: range, x: float, y: float) -> None:
    """A frame around devices of one row, the wider the outer its tier."""
    gap = 1 + 2 * (len(sheet.framed) - 1 - level)
    left, width = x + part.start * sheet.pitch + gap, len(part) * sheet.pitch - 2 * gap
    _box(axes, left, y + gap, width, _ROW - 2 * gap, FRAMES[level % len(FRAMES)], None)


def _bar(axes: Axes, sheet: _Sheet, tier: Tier, y: float) -> None:
    """A link by name: one that joins machines as a bar, one inside them beside what frames its units."""
    cluster, height = sheet.cluster, _BAR - _MARGIN
    if tier.num_devices > cluster.devices_per_node:
        _box(axes, _MARGIN, y, sheet.width - 2 * _MARGIN, height, Colour.LINE, Colour.BAND)
        left, text = 2 * _MARGIN, _link(cluster, tier)
    else:
        level = sheet.framed.index(tier) if tier in sheet.framed else None
        edge, fill = (Colour.LINE, Colour.IDLE) if level is None else (FRAMES[level % len(FRAMES)], None)
        _box(axes, _MARGIN + 1, y + 2, 2 * _MARGIN, height - 4, edge, fill)
        left, text = 4 * _MARGIN, f"{_link(cluster, tier)}, inside machines"
    _text(axes, left, y + height / 2, sheet.fitted(text, sheet.width - _MARGIN - left), Colour.INK)


def _text(axes: Axes, x: float, y: float, text: str, colour: Colour, ha: str = "left") -> None:
    axes.text(x, y, text, ha=ha, va="center", color=colour.value, fontsize=TEXT_PX)


def _box(axes: Axes, x: float, y: float, width: float, height: float, edge: Colour, fill: Colour | None) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=2.5",
            edgecolor=edge.value,
            facecolor="none" if fill is None else fill.value,
            linewidth=1.2,
        )
    )
