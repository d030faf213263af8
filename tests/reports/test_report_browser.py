"""The page in a real browser: it asks for nothing, reports no error, and fits a phone and a desk in both themes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_samples import cluster_answer, local_answer, measurement

from reports.page import render

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium browser on this computer")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    local = local_answer()
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render(local, measurement(local), (cluster_answer(),)), encoding="utf-8")
    return file


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_page_is_quiet_and_fits(browser: Any, page_file: Path, width: int, theme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=theme)
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(entry => entry.open = true)")
    assert messages == []
    assert [url for url in requests if not url.startswith("data:")] == [page_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.evaluate("[...document.querySelectorAll('svg')].filter(svg => svg.checkVisibility()).length")
    assert shown == page.evaluate("document.querySelectorAll('figure').length")
    page.close()


def test_the_theme_reaches_the_figures(browser: Any, page_file: Path) -> None:
    colours = {}
    for theme in ("light", "dark"):
        page = browser.new_page(color_scheme=theme)
        page.goto(page_file.as_uri())
        colours[theme] = page.evaluate("getComputedStyle(document.querySelector('.wide svg text')).fill")
        page.close()
    assert colours["light"] != colours["dark"]


def test_paper_is_light_and_cuts_nothing_off(browser: Any, page_file: Path) -> None:
    a4_px = 794 - 2 * 38  # 210 mm less two margins of 10 mm, at 96 pixels an inch
    page = browser.new_page(color_scheme="dark", viewport={"width": a4_px, "height": 1000})
    page.goto(page_file.as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth") <= a4_px
    page.close()
