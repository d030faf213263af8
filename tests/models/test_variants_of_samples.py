"""Every variant of a language model, of which there is a sample, is as large as transformers builds it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from outcomes import CONFIGS, expected

from planner.models.families import listed_families
from planner.models.families.variants import variants
from planner.models.read import read_model

FIVE = {str(number): "" for number in range(5)}


def _smallest_samples() -> dict[str, dict[str, Any]]:
    """The smallest sample of each class that transformers builds."""
    rows = [row for row in expected() if row.outcome == "read" and row.basis == "transformers"]
    samples: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: row.params_total or 0):
        data = json.loads((CONFIGS / row.file).read_text(encoding="utf-8"))
        for name in data.get("architectures") or ():
            samples.setdefault(name, data)
    return samples


@pytest.mark.slow
def test_variants_have_as_many_parameters_as_the_classes_of_transformers() -> None:
    import transformers
    from reference_counts import count_parameters

    samples, wrong, num_counted = _smallest_samples(), {}, 0
    for family in listed_families():
        for variant in variants(family):
            name = variant.architecture
            if family.architecture not in samples or not hasattr(transformers, name):
                continue
            data = {**samples[family.architecture], "architectures": [name], "id2label": FIVE}
            counts = (read_model(data, name, name).params_total, count_parameters(data))
            num_counted += 1
            if counts[0] != counts[1]:
                wrong[name] = counts
    assert wrong == {}
    assert num_counted > 200
