"""Readers of clusters, topologies and collectives take any file: a value that holds together, or one clear sentence.

`make fuzz` runs many more inputs than these.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.machines.readers import READERS, Finding, try_content, try_one

SEED = 4
REGRESSIONS = sorted((Path(__file__).parent / "machines" / "regressions").glob("*"))


@pytest.mark.parametrize("name", READERS)
def test_some_inputs(name: str) -> None:
    accepted = sum(try_one(name, SEED, index) for index in range(60))
    assert 0 < accepted < 60


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.name)
def test_what_was_found_before(path: Path) -> None:
    try_content(path.name.partition(".")[0], path.read_bytes())


@pytest.mark.parametrize("name", READERS)
def test_every_sample_is_accepted_or_refused_on_purpose(name: str) -> None:
    outcomes = [try_content(name, content) for content in READERS[name].samples()]
    assert any(outcomes)


def test_a_traceback_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: Path) -> None:
        raise KeyError("lost")

    monkeypatch.setitem(READERS, "table", READERS["table"].__class__(".csv", READERS["table"].samples, fail))
    with pytest.raises(Finding, match="KeyError: 'lost'"):
        try_content("table", b"")
