"""What a page is made of: answers with sections of paragraphs, drawings and tables. The template knows only these."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup

from costmodel.schedules.timeline import Timeline
from costmodel.spec import Measurement, PlanFile


@dataclass(frozen=True)
class Answer:
    """One plan to be shown: its file, the order of its passes, and the run that tried it, if there was one."""

    anchor: str
    """Prefix of every id of this answer on the page."""
    plan_file: PlanFile
    timeline: Timeline | None
    """Absent where the plan has no pipeline."""
    measurement: Measurement | None = None


class Tone(StrEnum):
    """How a paragraph is set: the colour only repeats what its words say."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    NOTE = "note"


@dataclass(frozen=True)
class Paragraph:
    """One paragraph of plain text."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Table:
    """A table of text: `numeric` columns are set flush right, row `highlight` is emphasised."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    highlight: int | None = None
    folded: bool = False
    """Whether the table is behind its caption until it is opened."""


@dataclass(frozen=True)
class Drawing:
    """A figure in two widths, of which the page shows the one that suits the screen."""

    caption: str
    wide: Markup
    narrow: Markup


@dataclass(frozen=True)
class Listing:
    """Preformatted text behind a summary line."""

    summary: str
    text: str


@dataclass(frozen=True)
class Section:
    """One part of an answer, in the order in which it is read."""

    slug: str
    title: str
    paragraphs: tuple[Paragraph, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    tables: tuple[Table, ...] = ()
    listings: tuple[Listing, ...] = ()
