"""Every sample config has its expected outcome, and the counts are those of the classes themselves."""

from __future__ import annotations

import json

import pytest
from outcomes import CONFIGS, PAGE, actual, expected, page_with_table, sample_files

ROWS = expected()


def test_every_sample_is_expected_to_become_something() -> None:
    assert [row.file for row in ROWS] == sample_files()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.file)
def test_a_sample_becomes_what_is_expected(row) -> None:
    if row.outcome == "traced":
        assert actual(row.file, traces=False).outcome == "unknown"
        return
    found = actual(row.file)
    assert found.outcome == row.outcome, found.said
    if row.outcome == "refused":
        assert row.words in found.said
    if row.outcome == "read":
        assert found.params_total == row.params_total


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if row.outcome == "traced"], ids=lambda row: row.file)
def test_a_class_that_no_family_reads_is_traced(row) -> None:
    found = actual(row.file)
    assert (found.outcome, found.params_total) == ("traced", row.params_total), found.said


def test_enough_samples_are_counted_by_the_class_itself() -> None:
    counted = {row.file for row in ROWS if row.outcome == "read" and row.basis == "transformers"}
    assert len(counted) >= 40


def test_the_table_in_the_docs_is_that_of_the_samples() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page_with_table(page) == page, "run: python -m tests.models.outcomes"


def test_the_classes_of_transformers_have_as_many_parameters() -> None:
    from reference_counts import count_parameters

    wrong = {}
    for row in ROWS:
        if row.basis == "transformers":
            counted = count_parameters(json.loads((CONFIGS / row.file).read_text(encoding="utf-8")))
            if counted != row.params_total:
                wrong[row.file] = counted
    assert wrong == {}
