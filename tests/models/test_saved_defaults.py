"""Every listed class, as transformers saves the default config of its config class: the same count, or a refusal.

Defaults of several classes contradict themselves (a tower that does not feed its text); those are refused by name.
"""

from __future__ import annotations

import json

import pytest

from costmodel.errors import BadInputError
from planner.models.families import listed_families
from planner.models.read import read_model

TRANSFORMERS_FAILS = ("Ministral", "Nemotron", "HunYuanDenseV1", "Dbrx")
"""Beginnings of classes that transformers cannot build from its own defaults."""


@pytest.mark.slow
def test_saved_defaults_are_read_as_transformers_builds_them() -> None:
    import transformers
    from reference_counts import count_parameters

    exported, wrong, num_read = set(dir(transformers)), {}, 0
    for name in sorted({family.architecture for family in listed_families()} & exported):
        if name.removesuffix("ForCausalLM") in TRANSFORMERS_FAILS:
            continue
        built = getattr(transformers, name).config_class()
        built.architectures = [name]
        data = json.loads(built.to_json_string())
        # transformers refuses its own spelling of an infinite limit, which sizes nothing.
        data.pop("time_step_limit", None)
        try:
            params_total = read_model(data, name, name).params_total
        except BadInputError:
            continue
        num_read += 1
        if params_total != count_parameters(data):
            wrong[name] = params_total
    assert wrong == {}
    assert num_read > 180
