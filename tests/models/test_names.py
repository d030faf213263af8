"""What somebody may have meant by a name that is not known."""

from __future__ import annotations

import pytest

from planner.clusters.presets import gpu_names, machine_names, preset_names
from planner.models import presets as models
from planner.names import MAX_HOLDING, alike, meant


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("h100smx", "h100-sxm"),
        ("H100-SXM5", "h100-sxm"),
        ("h100sxm", "h100-sxm"),
        ("h100 sxm", "h100-sxm"),
        ("clusters/h100-sxm", "h100-sxm"),
        ("h100-sxm.yml", "h100-sxm"),
        ("dgx_h100", "dgx-h100"),
        ("rtx4090", "rtx-4090"),
        ("p4d24xlarge", "p4d.24xlarge"),
        ("gb200nvl72", "gb200-nvl72"),
        ("mi300", "mi300x"),
        ("A100-SXM4-80GB", "a100-sxm-80gb"),
    ],
)
def test_misspelt_clusters(name: str, first: str) -> None:
    assert meant(name, preset_names())[0] == first


def test_names_that_hold_it_come_first_and_not_too_many() -> None:
    assert meant("b200", ["gb200", "b200", "dgx-b200"]) == ("b200", "gb200", "dgx-b200")
    assert len(meant("llama", models.preset_names())) == MAX_HOLDING


@pytest.mark.parametrize("name", ["", "/", "..", "a", "zzz", "x" * 100_000, "\x1b[2J"])
def test_names_that_mean_nothing(name: str) -> None:
    assert meant(name, preset_names()) == ()


def test_keys_are_compared_as_they_are_written() -> None:
    assert alike("nodez", ["name", "nodes", "network"], limit=1) == ("nodes",)
    assert alike("NODES", ["nodes"]) == ()


def test_known_names_are_in_lower_case() -> None:
    assert all(name == name.lower() for name in (*gpu_names(), *machine_names(), *models.preset_names()))
