"""The answer of `solve` and `check`: its first line names every value that nobody gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

H100 = ("--model", "llama-demo-6m", "--cluster", "h100-sxm")
WORKLOAD = {"global_batch": 64, "seq_len": 128, "precision": "bf16", "optimizer": "adamw", "method": "pretrain"}
LAYOUT = {"tp": 1, "cp": 1, "ep": 1, "pp": 1, "vpp": 1, "dp": 8, "zero": 0, "micro_batch": 1}
LAYOUT_WORDS = {"schedule": "1f1b", "recompute": "none"}
NO_CHOICE = {"optimizer", "method", "cp", "ep", "vpp"}
"""Flags with a single value."""

EVERY = WORKLOAD | LAYOUT | LAYOUT_WORDS


def flags(values: dict[str, object]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]


def first_line(stdout: str) -> str:
    """The first paragraph, whatever the width of the terminal."""
    return " ".join(stdout.split("8 GPUs as ")[0].split())


def test_check_names_every_default_it_took(planner, tmp_path: Path) -> None:
    outcome = planner("check", "--gpus", 8, *H100, "--json")
    assert outcome.json["defaults"] == EVERY
    sentence = outcome.json["assumptions"][0]
    chosen = {name: value for name, value in EVERY.items() if name not in NO_CHOICE}
    assert sentence == f"Defaults: {', '.join(flags(chosen)).replace('=', ' ')}."
    assert planner("show", "plan.json", "--json").json["assumptions"][0] == sentence
    assert first_line(planner("check", "--gpus", 8, *H100).stdout).startswith(sentence)
    assert json.loads((tmp_path / "plan.json").read_text())["assumptions"][0] == sentence


@pytest.mark.parametrize("given", [*WORKLOAD, *LAYOUT, *LAYOUT_WORDS])
def test_a_flag_that_was_given_is_no_default(planner, given: str) -> None:
    outcome = planner("check", "--gpus", 8, *H100, *flags({given: EVERY[given]}), "--json")
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["defaults"] == {name: value for name, value in EVERY.items() if name != given}


def test_all_flags_given_leave_no_default(planner) -> None:
    outcome = planner("check", "--gpus", 8, *H100, *flags(EVERY), "--json")
    assert outcome.json["defaults"] == {}
    assert not any("Defaults" in sentence for sentence in outcome.json["assumptions"])


def test_defaults_follow_the_framework_and_the_other_flags(planner) -> None:
    flat = planner("check", "--gpus", 8, *H100, "--framework", "torchtitan", "--json")
    assert flat.json["defaults"]["zero"] == flat.json["plan"]["zero"] == 3
    stages = planner("check", "--gpus", 8, *H100, "--framework", "torchtitan", "--pp", 2, "--json")
    assert (stages.json["defaults"]["zero"], stages.json["defaults"]["dp"]) == (1, 4)


def test_a_layout_that_breaks_a_rule_names_its_defaults_too(planner) -> None:
    outcome = planner("check", "--gpus", 8, *H100, "--tp", 3, "--json")
    assert outcome.code == 3
    assert outcome.json["defaults"] == {
        name: value for name, value in EVERY.items() if name not in {"tp", "dp", "zero"}
    }


def test_solve_names_the_workload_alone_because_it_searches_the_layout(planner) -> None:
    outcome = planner("solve", "--gpus", 8, *H100, "--json")
    assert outcome.json["defaults"] == WORKLOAD
    assert outcome.json["assumptions"][0] == ("Defaults: --global-batch 64, --seq-len 128, --precision bf16.")


def test_a_plan_or_rule_of_thumb_whose_memory_is_tight_says_what_that_means(planner, tmp_path: Path) -> None:
    # Without recomputation a rank keeps 79.7 GiB of the 78.3 GiB that it may allocate; 12 % either way.
    layout = {"tp": 1, "pp": 1, "zero": 1, "micro_batch": 1, "recompute": "none"}
    question = ("--gpus", 64, "--model", "llama-3-8b", "--cluster", "h100-sxm", "--seq-len", 4096, *flags(layout))
    text = " ".join(planner("solve", *question, "--allow-tight").stdout.split())
    means = (
        "TIGHT: the limit of 78.3 GiB lies within the interval of its peak, 70.1 to 89.3 GiB, so it may run out of "
        "memory"
    )
    assert f"{means}. Interval:" in text
    assert "that FITS or is TIGHT for this cost model" in text

    data = json.loads((tmp_path / "plan.json").read_text())
    data["baselines"][0] |= {"plan": data["plan"], "prediction": data["prediction"], "infeasible": None}
    (tmp_path / "plan.json").write_text(json.dumps(data))
    shown = " ".join(planner("show", "plan.json").stdout.split())
    assert f"(1.00 x of this plan), {means}; solve takes such plans only with --allow-tight." in shown
