"""`planner validate`: the files it writes, what it prints, and what it refuses."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.validation.sample_runs import SMALL, as_csv

OTHER_FILE = "id,something else\n"
EVIL = "<script>alert(1)</script>"


def write_runs(num_rows: int = 6) -> Path:
    rows = [
        {
            "id": f"src-{index}",
            **SMALL,
            "micro_batch": str(1 + index % 2),
            "step_time_s": "0.05",
            "use_time": "1",
            "peak_mem_gb": "5",
            "use_memory": "1",
            "memory_counter": "allocated",
        }
        for index in range(num_rows)
    ]
    rows.append({**rows[0], "id": EVIL, "step_time_s": "50"})
    rows.append({**rows[0], "id": "src-x", "gpu": "Z999", "use_time": "0", "use_memory": "0"})
    path = Path("runs.csv")
    path.write_text(as_csv(rows))
    return path


def test_predictions_summary_and_page(planner) -> None:
    path = write_runs()
    outcome = planner("validate", path, "--report", "page.html")
    assert outcome.code == 0
    assert Path("predictions.csv").read_text().count("\n") == 9
    for words in ("7 of 8 runs have a prediction", "constant efficiency", "src", "allocated", "Furthest off"):
        assert words in outcome.stdout
    assert "predictions.csv" in outcome.stderr
    page = Path("page.html").read_text()
    assert EVIL not in page
    assert "&lt;script&gt;alert" in page
    tags = Tags()
    tags.feed(page)
    assert {"svg", "table"} <= tags.seen
    assert not {"script", "iframe", "object"} & tags.seen


class Tags(HTMLParser):
    """Which elements a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self.seen.add(tag)


def test_json(planner) -> None:
    outcome = planner("validate", write_runs(), "--json")
    assert outcome.code == 0
    data = outcome.json
    assert {"file", "num_runs", "num_answered", "time", "time_left_out", "baseline", "memory", "ran", "oom"} <= set(
        data
    )
    assert (data["num_runs"], data["num_answered"]) == (8, 7)
    assert data["time"]["by_source"]["src"]["num_rows"] == 6
    assert data["worst"][0]["terms"]


def test_files_without_results_are_predicted_alone(planner) -> None:
    Path("runs.csv").write_text(as_csv([{"id": "a", **SMALL}]))
    outcome = planner("validate", "runs.csv", "--report", "page.html")
    assert outcome.code == 0
    assert "1 of 1 runs have a prediction" in outcome.stdout
    assert "MdAPE" not in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("missing.csv",), "no such file"),
        (("runs.csv", "-o", "runs.csv", "--force"), "is the file that is read"),
        (("runs.csv", "-o", "other.csv"), "holds something else already"),
        (("runs.csv", "--report", "other.csv"), "holds something else already"),
        (("runs.csv", "-o", "x", "--report", "x"), "is named for predictions and page alike"),
        (("other.csv",), "is missing"),
    ],
)
def test_what_is_refused(planner, arguments: tuple[str, ...], sentence: str) -> None:
    write_runs()
    Path("other.csv").write_text(OTHER_FILE)
    outcome = planner("validate", *arguments)
    assert outcome.code == 2
    assert sentence in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert Path("other.csv").read_text() == OTHER_FILE
    assert not Path("predictions.csv").exists()


def test_its_own_files_are_replaced(planner) -> None:
    path = write_runs()
    for _ in range(2):
        assert planner("validate", path, "--report", "page.html").code == 0
