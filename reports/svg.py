"""Turns matplotlib figures into SVG that lives inside an HTML page: themed, accessible, the same bytes every time.

Figures are drawn in the light colours of `Colour`. On the way out each of them becomes a CSS variable of the page
(with the light colour as its fallback), so that one drawing serves light, dark and print.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from enum import StrEnum
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from reports.section import Drawing
from reports.text import visible

WIDE_PX = 840
NARROW_PX = 350


class Colour(StrEnum):
    """Colours by the part they play; the page's style sheet gives each its dark twin under the same name.

    The series are those of Okabe and Ito, which readers with any common colour blindness can tell apart.
    """

    INK = "#1b2027"
    MUTED = "#59636f"
    LINE = "#d6dbe2"
    IDLE = "#eceff3"
    LIMIT = "#bb1e2d"
    EDGE = "#fffefd"
    ON_FILL = "#0d1117"
    BAND = "#cfe8dd"
    FORWARD = "#9bd0f4"
    BACKWARD = "#e18b02"
    BLUE = "#0072b2"
    ORANGE = "#e69f00"
    GREEN = "#009e73"
    PURPLE = "#cc79a7"
    SKY = "#56b4e9"
    VERMILLION = "#d55e00"
    YELLOW = "#f0e442"
    GREY = "#8b929b"


SERIES = (
    Colour.BLUE,
    Colour.ORANGE,
    Colour.GREEN,
    Colour.PURPLE,
    Colour.SKY,
    Colour.VERMILLION,
    Colour.YELLOW,
    Colour.GREY,
)

_RC: dict[Any, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "parallelism-planner",
    "text.parse_math": False,
    "font.size": 12.5,
    "text.color": Colour.INK.value,
    "axes.labelcolor": Colour.MUTED.value,
    "axes.edgecolor": Colour.LINE.value,
    "xtick.color": Colour.LINE.value,
    "xtick.labelcolor": Colour.MUTED.value,
    "ytick.color": Colour.LINE.value,
    "ytick.labelcolor": Colour.INK.value,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": Colour.LINE.value,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 12,
}
_NAMESPACE = "http://www.w3.org/2000/svg"
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_HEX_COLOUR = re.compile(r"#[0-9a-f]{6}")
_FONT = re.compile(r"font(-family)?:[^;]*'[^;]*")
_VARIABLES = {colour.value: f"var(--{colour.name.lower().replace('_', '-')}, {colour.value})" for colour in Colour}
_PLAIN_ATTRIBUTES = {"d", "x", "y", "transform", "id"}


def draw(
    caption: str, description: str, anchor: str, paint: Callable[[Figure, bool], None], heights: tuple[float, float]
) -> Drawing:
    """Draw a figure twice, wide and narrow; `paint(figure, narrow)` fills it.

    `heights` are in pixels, for the wide and the narrow one. `caption` and `description` become the title and the
    long description that a screen reader speaks; `anchor` makes the ids unique on the page.
    """
    pictures = []
    for narrow, width_px, height_px in ((False, WIDE_PX, heights[0]), (True, NARROW_PX, heights[1])):
        with mpl.rc_context(_RC | ({"font.size": 11.5, "legend.fontsize": 11} if narrow else {})):
            figure = Figure(figsize=(width_px / 72, height_px / 72), dpi=72, layout="constrained")
            paint(figure, narrow)
            pictures.append(_to_markup(figure, caption, description, f"{anchor}-{'narrow' if narrow else 'wide'}"))
    return Drawing(caption, *pictures)


def standalone(picture: Markup) -> str:
    """A drawing of a page as a file of its own, in its light colours and the fonts of whoever opens it."""
    root = str(picture).replace("<svg ", f'<svg xmlns="{_NAMESPACE}" font-family="system-ui, sans-serif" ', 1)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n'


def name_rows(axes: Axes, names: list[str], narrow: bool) -> None:
    """Write the names of horizontal bars at 0, 1, 2, ... from the top: beside them, or above them if `narrow`."""
    axes.set_ylim(len(names) - 0.4, -0.85 if narrow else -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    if not narrow:
        axes.set_yticks(range(len(names)), names)
        return
    axes.set_yticks([])
    for row, name in enumerate(names):
        axes.text(0, row - 0.36, name, transform=axes.get_yaxis_transform(), va="bottom", ha="left")


def beside(axes: Axes, x: float, y: float, text: str, *, left: bool = False, colour: Colour = Colour.INK) -> None:
    """Write `text` a few pixels to the right of a point, or to its left."""
    axes.annotate(
        text,
        (x, y),
        xytext=(-6 if left else 6, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="center",
        color=colour,
    )


def _to_markup(figure: Figure, title: str, description: str, prefix: str) -> Markup:
    """The SVG of `figure` without XML prologue, namespaces and metadata, its ids prefixed and its colours themed."""
    file = io.StringIO()
    with warnings.catch_warnings():
        # A glyph that the measuring font lacks is drawn by the browser's own fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        # Not savefig: it draws everything twice to lay out once.
        canvas = FigureCanvasSVG(figure)
        canvas.print_svg(file, metadata=_NO_METADATA)  # type: ignore[no-untyped-call]
    root = ElementTree.fromstring(file.getvalue())
    for element in root.iter():
        element.tag = _local(element.tag)
        element.tail = None
        if element.text and not element.text.strip():
            element.text = None
        element.attrib = {_local(name): _inline(name, value, prefix) for name, value in element.attrib.items()}
        if "id" in element.attrib:
            element.set("id", f"{prefix}-{element.get('id')}")
        if element.get("href", "").startswith("#"):
            element.set("href", f"#{prefix}-{element.attrib['href'][1:]}")
    for child in root.findall("metadata") + root.findall("defs[style]"):  # a style here would rule the whole page
        root.remove(child)
    for name, text in (("desc", description), ("title", title)):
        child = ElementTree.Element(name, {"id": f"{prefix}-{name}"})
        child.text = visible(text)
        root.insert(0, child)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "width": root.attrib["width"].removesuffix("pt"),
        "role": "img",
        "aria-labelledby": f"{prefix}-title {prefix}-desc",
    }
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _inline(name: str, value: str, prefix: str) -> str:
    """An attribute for a place inside the page: references prefixed, colours as variables, fonts inherited."""
    if name in _PLAIN_ATTRIBUTES:
        return value
    value = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
    value = _HEX_COLOUR.sub(lambda match: _VARIABLES.get(match[0], match[0]), value)
    return _FONT.sub(_system_font, value)


def _system_font(match: re.Match[str]) -> str:
    """The page's own fonts instead of the one that matplotlib measured with (which is wider, so nothing collides)."""
    if match[1]:
        return "font-family: inherit"
    size = re.search(r"[0-9.]+px", match[0])
    return f"font-size: {size[0]}" if size else ""
