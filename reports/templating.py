"""The templates of the pages, and the style sheet that they share."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from reports.text import visible


def template(name: str) -> Template:
    """The template of a page, in which every text that is not markup of ours is escaped."""
    return _environment().get_template(name)


def style() -> Markup:
    """The style sheet, to stand inside a page."""
    return Markup(resources.files("reports.templates").joinpath("style.css").read_text(encoding="utf-8"))


def _finalize(value: Any) -> Any:
    """Every text that is not markup of ours is shown without hidden characters."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
