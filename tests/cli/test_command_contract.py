"""What other programs rely on: commands, flags, JSON keys, exit codes. Literal, so that every change is seen."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from costmodel import errors
from planner.cli.main import COMMANDS, cli

QUESTION = {"--gpus", "--model", "--cluster", "--profile", "--framework"}
WORKLOAD = {"--global-batch", "--seq-len", "--precision", "--optimizer", "--method"}
LAYOUT = {"--tp", "--cp", "--ep", "--pp", "--vpp", "--dp", "--micro-batch", "--zero", "--schedule", "--recompute"}
OUTPUT = {"-o", "--output", "--force", "--json"}

FLAGS = {
    "profile": {"--model", "--device", "--nproc", "--seq-len", "--precision"} | OUTPUT,
    "solve": QUESTION | WORKLOAD | LAYOUT | OUTPUT | {"--allow-tight", "--time-limit"},
    "check": QUESTION | WORKLOAD | LAYOUT | OUTPUT,
    "show": {"--json"},
    "run": {"--steps", "--data", "--seed", "--lr", "--device"} | OUTPUT,
    "report": {"--measurement"} | OUTPUT,
    "export": {"--to", "--launcher"} | OUTPUT,
    "demo": {"--device", "--nproc", "--force", "--json"},
}

DEFAULT_OUTPUTS = {
    "profile": "profile.json",
    "solve": "plan.json",
    "check": "plan.json",
    "run": "measurement.json",
    "report": "report.html",
}

PREDICTION = {
    "step_time_s",
    "step_time_low_s",
    "step_time_high_s",
    "tokens_per_s_per_gpu",
    "mfu_frac",
    "peak_memory_bytes",
    "peak_memory_low_bytes",
    "peak_memory_high_bytes",
    "memory_limit_bytes",
    "verdict",
}
PLAN = {"tp", "cp", "ep", "pp", "vpp", "dp", "zero", "micro_batch", "schedule", "recompute", "framework"}
CERTIFICATE = {
    "lower_bound_s",
    "gap_frac",
    "gap_in_space_frac",
    "restrictions",
    "considered",
    "pruned",
    "solved",
    "wall_s",
}
MODEL = {"params_total", "params_active", "params_by_part", "params_mtp", "num_layers", "hidden", "vocab"}

SMALL = ("--gpus", 1, "--model", "llama-demo-6m", "--cluster", "h100-sxm")


def test_commands_stand_in_the_order_of_a_first_use() -> None:
    assert list(COMMANDS) == ["profile", "solve", "check", "show", "run", "report", "export", "demo"]


@pytest.mark.parametrize("name", FLAGS)
def test_flags(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    assert {flag for option in options for flag in option.opts} == FLAGS[name]
    assert not any(option.prompt for option in options)
    if name in DEFAULT_OUTPUTS:
        assert next(option.default for option in options if option.name == "output") == DEFAULT_OUTPUTS[name]


def test_exit_codes() -> None:
    assert (errors.EXIT_OK, errors.EXIT_DEFECT, errors.EXIT_BAD_INPUT) == (0, 1, 2)
    assert (errors.EXIT_INFEASIBLE, errors.EXIT_MISSING, errors.EXIT_RUN_FAILED) == (3, 4, 5)


def test_object_of_solve_and_its_plan_file(planner, tmp_path: Path) -> None:
    outcome = planner("solve", *SMALL, "--json")
    assert outcome.code == 0, outcome.stderr
    data = outcome.json
    assert data.keys() >= PREDICTION | {"plan", "baseline", "certificate", "assumptions", "sensitivities"}
    assert data["plan"].keys() >= PLAN
    assert data["certificate"].keys() >= CERTIFICATE
    assert data["baseline"].keys() >= {"plan", "step_time_s"}
    assert data["verdict"] == "FITS"
    assert data["step_time_low_s"] <= data["step_time_s"] <= data["step_time_high_s"]
    written = json.loads((tmp_path / "plan.json").read_text())
    assert written["schema"] == "plan_file/1"
    assert all(written["prediction"][key] == data[key] for key in PREDICTION)


def test_object_of_check(planner) -> None:
    outcome = planner("check", *SMALL, "--tp", 1, "--json")
    assert outcome.code == 0, outcome.stderr
    assert outcome.json.keys() >= PREDICTION | {"plan", "baseline"}
    assert outcome.json["certificate"] is None


def test_object_of_a_layout_that_does_not_fit(planner) -> None:
    # 70.6e9 parameters with 16 bytes of weights, gradients and optimizer state each are 1.1e12 bytes on one GPU.
    outcome = planner("check", "--gpus", 1, "--model", "llama-3-70b", "--cluster", "h100-sxm", "--json")
    assert outcome.code == 3
    data = outcome.json
    assert data.keys() >= {"rule", "stage", "missing_bytes", "nearest"} | PREDICTION
    assert data["verdict"] == "DOES_NOT_FIT"
    assert data["missing_bytes"] > 900e9


def test_a_layout_that_does_not_fit_names_the_nearest_that_does(planner, tmp_path: Path) -> None:
    # 8.03e9 parameters x 16 bytes = 128e9 bytes on every GPU without ZeRO, above the 84e9 that one may allocate.
    flags = ("--gpus", 8, "--model", "llama-3-8b", "--cluster", "h100-sxm", "--zero", 0, "--tp", 1, "--pp", 1)
    outcome = planner("check", *flags, "--json")
    assert outcome.code == 3
    nearest = outcome.json["nearest"]
    assert nearest.keys() >= PLAN
    degrees = [f"--{name}={nearest[name]}" for name in ("tp", "pp", "dp", "zero", "schedule")]
    again = planner("check", *flags[:6], *degrees, f"--micro-batch={nearest['micro_batch']}", "--json")
    assert again.code == 0, again.stdout
    assert again.json["verdict"] == "FITS"


def test_object_of_show(planner) -> None:
    outcome = planner("show", "llama-3-8b", "--json")
    assert outcome.code == 0
    assert outcome.json.keys() >= MODEL
    assert outcome.json["params_total"] == 8030261248
    assert outcome.json["params_mtp"] == 0


def test_help_of_every_command(planner) -> None:
    for name in COMMANDS:
        outcome = planner(name, "--help")
        assert outcome.code == 0
        assert "Usage: planner " + name in outcome.stdout


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("solve",), ("solve", "--gpus", "many"), ("show",), ("run", "-x")]
)
def test_wrong_usage_exits_2(planner, arguments: tuple[str, ...]) -> None:
    outcome = planner(*arguments)
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("planner: ")
    assert outcome.stderr.count("\n") == 1


def test_version(planner) -> None:
    assert planner("--version").stdout.startswith("planner 0.")
