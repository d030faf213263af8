"""The page as a document: self-contained, well-formed, escaped, the same every time, and complete."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from report_samples import cluster_answer, local_answer, measurement

from costmodel.errors import BadInputError
from costmodel.spec import Plan, PlanFile
from reports.page import render

VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = "<script>alert('&amp;')</script>\" onload=\"x $\\frac{1}$ \u202e\x00"


class Outline(HTMLParser):
    """Collects ids, links, headings and tags, and complains about a tag that is closed out of order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"style", "text"}:
            self.text.append(data)

    def values(self, attribute: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(attribute)) is not None]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def full_page() -> str:
    local = local_answer()
    return render(local, measurement(local), (cluster_answer(),))


def test_tags_nest_and_ids_are_unique(full_page: str) -> None:
    ids = Outline(full_page).values("id")
    assert len(ids) == len(set(ids))


def test_each_figure_is_well_formed_and_named_for_screen_readers(full_page: str) -> None:
    figures = re.findall(r"<svg.*?</svg>", full_page, flags=re.DOTALL)
    assert len(figures) == 2 * (
        5 + 4
    )  # two widths; local: steps, loss, peaks, memory, time; cluster: memory to ranking
    for figure in figures:
        root = ElementTree.fromstring(figure)
        named = {child.get("id"): (child.text or "").strip() for child in root if child.tag in {"title", "desc"}}
        assert root.get("role") == "img"
        assert all(named[name] for name in root.attrib["aria-labelledby"].split())


def test_every_reference_inside_the_page_has_its_target(full_page: str) -> None:
    outline = Outline(full_page)
    targets = [href[1:] for href in outline.values("href") if href.startswith("#")]
    targets += re.findall(r"url\(#([^)]+)\)", full_page)
    targets += " ".join(outline.values("aria-labelledby")).split()
    assert targets
    assert set(targets) <= set(outline.values("id"))


def test_nothing_is_loaded_and_nothing_runs(full_page: str) -> None:
    outline = Outline(full_page)
    assert not outline.values("src")
    assert {href for href in outline.values("href") if not href.startswith("#")} == {"data:,"}
    assert "script" not in {tag for tag, _ in outline.tags}
    assert not [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]
    assert not re.search(r"@import|url\((?!#)|https?://", full_page)
    policy = next(attributes["content"] for tag, attributes in outline.tags if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_the_same_answer_gives_the_same_bytes() -> None:
    assert render(local_answer()) == render(local_answer())


def test_tables_have_headers_and_even_rows(full_page: str) -> None:
    for table in re.findall(r"<table>.*?</table>", full_page, flags=re.DOTALL):
        head, body = table.split("</thead>")
        columns = head.count('<th scope="col"')
        rows = body.count("<tr")
        assert "<caption>" in head
        assert rows == body.count('<th scope="row"')
        assert rows + body.count("<td") == rows * columns


def test_one_answer_and_many_have_all_their_sections(full_page: str) -> None:
    ids = Outline(full_page).values("id")
    always = {"plan", "memory", "time", "pipeline", "provenance"}
    assert {name.removeprefix("a1-") for name in ids if re.fullmatch(r"a1-[a-z]+", name)} == always | {
        "title",
        "measured",
    }
    assert {name.removeprefix("a2-") for name in ids if re.fullmatch(r"a2-[a-z]+", name)} == (
        always | {"title", "alternatives", "sensitivity"}
    )


def test_one_answer_has_no_overview(full_page: str) -> None:
    assert "The answers on this page" in full_page
    assert "The answers on this page" not in render(local_answer())


def test_a_bare_plan_file_gives_a_page() -> None:
    bare = cluster_answer().model_copy(
        update={"certificate": None, "alternatives": (), "baselines": (), "refused": (), "sensitivities": ()}
    )
    outline = Outline(render(bare))
    assert "nothing is claimed about how near it is to the best one" in outline.words
    assert not {"a1-alternatives", "a1-sensitivity", "a1-measured"} & set(outline.values("id"))


def hostile(value: Any) -> Any:
    """`value` as JSON with every free text in it, keys of free dictionaries included, replaced by `HOSTILE`."""
    if isinstance(value, list):
        return [hostile(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    free_text = {
        "name", "architecture", "note", "framework", "interval_note", "space", "why_not", "rule", "sentence", "input",
        "change", "created", "device", "driver", "backend", "date", "memory_counter",
    }  # fmt: skip
    free_keys = {"refused", "input_hashes", "versions"}
    result = {}
    for key, entry in value.items():
        if key in free_text and isinstance(entry, str):
            result[key] = HOSTILE
        elif key in free_keys and isinstance(entry, dict):
            result[key] = {
                f"{HOSTILE}{name}": HOSTILE if isinstance(text, str) else text for name, text in entry.items()
            }
        elif key in {"assumptions", "restrictions"}:
            result[key] = [HOSTILE] * max(1, len(entry))
        else:
            result[key] = hostile(entry)
    return result


def with_matching_ids(data: dict[str, Any]) -> PlanFile:
    """A plan file whose predictions belong to their plans again after the plans' texts have changed."""
    for pair in (data, *data["alternatives"], *data["baselines"]):
        if pair["prediction"] is not None:
            pair["prediction"]["plan_id"] = Plan.model_validate(pair["plan"]).plan_id
    return PlanFile.model_validate(data)


@pytest.mark.parametrize("sample", [local_answer, cluster_answer])
def test_hostile_text_in_every_field_stays_text(sample: Any) -> None:
    data = hostile(sample().model_dump(mode="json"))
    for place, tier in enumerate(data["cluster"]["tiers"]):
        tier["name"] += str(place)  # No two may be called the same.
    file = with_matching_ids(data)
    run = measurement(file).model_copy(update={"memory_counter": HOSTILE})
    page = render(file, run)
    outline = Outline(page)
    assert "<script" not in page
    assert "script" not in {tag for tag, _ in outline.tags}
    assert not [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]
    assert not {"\x00", "\u202e"} & set(page)
    assert "<script>alert('&amp;')</script>" in outline.words  # shown as written
    for figure in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        ElementTree.fromstring(figure)


def test_a_lone_surrogate_can_be_written_as_utf8() -> None:
    local = local_answer()
    named = local.model_copy(update={"model": local.model.model_copy(update={"name": "lama \ud800 模型"})})
    assert "lama \ufffd 模型" in render(named).encode().decode()


def test_a_measurement_of_another_plan_is_refused() -> None:
    with pytest.raises(BadInputError, match="question_id"):
        render(local_answer(), measurement(cluster_answer()))


def test_a_measurement_of_the_same_layout_in_another_job_is_refused() -> None:
    local = local_answer()
    longer = local.model_copy(update={"workload": local.workload.model_copy(update={"seq_len": 512})})
    assert longer.plan == local.plan
    with pytest.raises(BadInputError, match="question_id"):
        render(longer, measurement(local))


def test_a_batch_that_does_not_divide_is_refused() -> None:
    local = local_answer()
    odd = local.model_copy(update={"workload": local.workload.model_copy(update={"global_batch": 7})})
    with pytest.raises(BadInputError, match="global batch 7"):
        render(odd)
