"""What other programs rely on: commands, flags, JSON keys, exit codes. Literal, so that every change is seen."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from costmodel import errors
from costmodel.spec import Measurement, PlanFile, Provenance
from planner.cli.demonstration import Demonstration, Files, demonstration_object
from planner.cli.main import COMMANDS, cli
from planner.clusters.presets import gpu_names, machine_names
from planner.clusters.read import load_cluster

QUESTION = {"--gpus", "--model", "--cluster", "--profile", "--framework"}
WORKLOAD = {"--global-batch", "--seq-len", "--precision", "--optimizer", "--method"}
LAYOUT = {"--tp", "--cp", "--ep", "--pp", "--vpp", "--dp", "--micro-batch", "--zero", "--schedule", "--recompute"}
OUTPUT = {"-o", "--output", "--force", "--json"}

FLAGS = {
    "profile": {"--model", "--device", "--nproc", "--seq-len", "--precision"} | OUTPUT,
    "solve": QUESTION | WORKLOAD | LAYOUT | OUTPUT | {"--allow-tight", "--time-limit"},
    "check": QUESTION | WORKLOAD | LAYOUT | OUTPUT,
    "show": {"--json", "--svg", "--config", "--groups"},
    "models": {"--json"},
    "clusters": {"--json"},
    "run": {"--steps", "--data", "--seed", "--lr", "--device"} | OUTPUT,
    "report": {"--measurement"} | OUTPUT,
    "export": {"--to", "--launcher"} | OUTPUT,
    "validate": {"--report"} | OUTPUT,
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
INFEASIBLE = {"rule", "sentence", "stage", "missing_bytes", "needed", "limit", "nearest"}
BASELINE = {"name", "rule_of_thumb", "plan"} | PREDICTION
MEASUREMENT = {
    "schema",
    "plan_id",
    "seed",
    "losses",
    "step_times_s",
    "step_time_median_s",
    "num_warmup_steps",
    "peak_memory_bytes",
    "memory_counter",
    "predicted_step_time_s",
    "predicted_step_time_low_s",
    "predicted_step_time_high_s",
    "predicted_peak_memory_bytes",
    "within_interval",
    "provenance",
}
ANSWER = {"plan", "baseline", "baselines", "certificate", "alternatives", "sensitivities", "assumptions", "workload"}
MODEL = {"params_total", "params_active", "params_by_part", "params_mtp", "num_layers", "hidden", "vocab"}

OTHER_SCHEMA = json.dumps({"schema": "notes/1"})
DEMO_FILES = ["profile.json", "plan.json", "measurement.json", "report.html"]
SMALL = ("--gpus", 1, "--model", "llama-demo-6m", "--cluster", "h100-sxm")


def test_commands_stand_in_the_order_of_a_first_use() -> None:
    assert list(COMMANDS) == [
        "profile",
        "solve",
        "check",
        "show",
        "models",
        "clusters",
        "run",
        "report",
        "export",
        "validate",
        "demo",
    ]


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
    assert data["baseline"].keys() >= BASELINE
    assert data["baselines"][0] == data["baseline"]
    assert data.keys() >= ANSWER | {"defaults", "file"}
    assert data["verdict"] == "FITS"
    assert data["step_time_low_s"] <= data["step_time_s"] <= data["step_time_high_s"]
    written = json.loads((tmp_path / "plan.json").read_text())
    assert written["schema"] == "plan_file/1"
    assert all(written["prediction"][key] == data[key] for key in PREDICTION)


def test_object_of_check(planner) -> None:
    outcome = planner("check", *SMALL, "--tp", 1, "--json")
    assert outcome.code == 0, outcome.stderr
    assert outcome.json.keys() >= PREDICTION | ANSWER | {"defaults", "file"}
    assert outcome.json["baseline"].keys() >= BASELINE
    assert outcome.json["certificate"] is None


def test_object_of_a_layout_that_does_not_fit(planner) -> None:
    # 70.6e9 parameters with 16 bytes of weights, gradients and optimizer state each are 1.1e12 bytes on one GPU.
    outcome = planner("check", "--gpus", 1, "--model", "llama-3-70b", "--cluster", "h100-sxm", "--json")
    assert outcome.code == 3
    data = outcome.json
    assert data.keys() >= INFEASIBLE | PREDICTION | {"defaults"}
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


def test_object_of_models(planner) -> None:
    data = planner("models", "--json").json
    names = [model["name"] for model in data["models"]]
    assert len(names) >= 40
    assert {"llama-3-70b", "gpt3-175b", "mixtral-8x7b", "deepseek-v3"} <= set(names)
    assert all(model["source"] and model["params_active"] <= model["params_total"] for model in data["models"])
    assert "LlamaForCausalLM" in data["architectures"]
    stacks = {model["name"]: model["stacks"] for model in data["models"]}
    assert stacks["llama-3-8b"] == ["32 x 4,096"]
    assert stacks["whisper-tiny"] == ["4 encoder x 384", "4 decoder x 384"]
    assert stacks["clip-vit-large"] == ["24 vision x 1,024", "12 text x 768"]


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_names_of_models_stay_whole(planner, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = planner("models").stdout.splitlines()
    assert all(len(line) <= columns for line in lines)
    starts = {line.split(" ")[0] for line in lines}
    assert {"whisper-large-v3-turbo", "qwen3-coder-480b-a35b"} <= starts
    last = {line.split()[-1] for line in lines if line.strip()}
    assert ("Gemma3ForConditionalGeneration" in last) == (columns > 100), "the column of classes is left out"


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_names_of_clusters_stay_whole(planner, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = planner("clusters").stdout.splitlines()
    assert all(len(line) <= columns for line in lines)
    starts = {line.split(" ")[0] for line in lines}
    assert {*gpu_names(), *machine_names()} <= starts
    text = "\n".join(lines)
    assert ("NVIDIA RTX PRO 6000 Blackwell Server Edition" in text) == (columns > 140), (
        "the driver's names are left out"
    )
    assert "2 x rtx-4090" in text


def test_object_of_clusters(planner) -> None:
    presets = {preset["name"]: preset for preset in planner("clusters", "--json").json["clusters"]}
    assert {preset["kind"] for preset in presets.values()} == {"gpu", "machine"}
    h100, machine = presets["h100-sxm"], presets["p5.48xlarge"]
    assert h100["device"]["peak_flop_per_s"]["bf16"] == 989e12
    assert h100["device"]["sources"].keys() >= {"peak_flop_per_s", "memory_bytes"}
    assert machine["nics"] == {"count": 32, "bandwidth_bytes_per_s": 12.5e9, "link": "efa"}
    assert (machine["gpu"], machine["devices_per_node"], machine["device"]) == ("h100-sxm", 8, h100["device"])
    listed = planner("clusters").stdout
    assert listed.index("v100-sxm-32gb") < listed.index("dgx-h100"), "GPUs first"


def test_objects_of_show_for_what_planner_writes(planner, plan_text: str, measurement: Measurement) -> None:
    Path("plan.json").write_text(plan_text)
    Path("measurement.json").write_text(measurement.to_json())
    Path("cluster.json").write_text(load_cluster("h100-sxm", 8).spec.to_json())
    plan = planner("show", "plan.json", "--json").json
    assert plan.keys() >= PREDICTION | ANSWER | {"kind"}
    assert planner("show", "measurement.json", "--json").json.keys() >= MEASUREMENT | {
        "kind",
        "measured_over_predicted",
    }
    assert planner("show", "cluster.json", "--json").json.keys() >= {"kind", "device", "num_devices", "tiers"}


@pytest.fixture
def measurement(plan_text: str) -> Measurement:
    """What a run of two steps on two ranks might have shown."""
    file = PlanFile.from_json(plan_text, "here")
    prediction = file.prediction
    return Measurement(
        plan_id=file.plan.plan_id,
        question_id=file.question_id,
        seed=0,
        losses=(5.5, 5.4),
        step_times_s=(0.3, 0.2),
        num_warmup_steps=1,
        step_time_median_s=0.2,
        peak_memory_bytes=(10, 11),
        memory_counter="resident",
        predicted_step_time_s=prediction.step_time_s,
        predicted_step_time_low_s=prediction.step_time_low_s,
        predicted_step_time_high_s=prediction.step_time_high_s,
        predicted_peak_memory_bytes=prediction.peak_memory_bytes,
        provenance=Provenance(
            device="a CPU", driver="6.1", backend="gloo", versions={}, date="2030", num_ranks=2, threads_per_rank=1
        ),
    )


def test_measurement_file(measurement: Measurement) -> None:
    data = json.loads(measurement.to_json())
    assert data.keys() >= MEASUREMENT
    assert data["schema"] == "measurement/1"
    assert len(data["losses"]) == len(data["step_times_s"]) == len(data["peak_memory_bytes"]) == 2


def test_object_of_demo(plan_text: str, measurement: Measurement) -> None:
    file = PlanFile.from_json(plan_text, "here")
    files = Files(*(Path(name) for name in DEMO_FILES))
    profile = None  # stands in a file of its own, not in the object
    data = demonstration_object(Demonstration(profile, file, file, measurement, 90.0), files)
    assert data.keys() == {"local", "large", "measurement", "within_interval", "wall_s", "files"}
    assert data["local"].keys() >= PREDICTION | ANSWER
    assert data["large"].keys() >= PREDICTION | ANSWER
    assert data["measurement"].keys() >= MEASUREMENT
    assert data["files"] == DEMO_FILES
    assert json.loads(json.dumps(data)) == data


def test_object_and_folder_of_export(planner, plan_text: str) -> None:
    Path("plan.json").write_text(plan_text)
    data = planner("export", "plan.json", "--to", "native", "--json").json
    assert data.keys() >= {"to", "version", "launcher", "plan_id", "files"}
    assert data["launcher"] == "torchrun"
    assert {Path(name).parts[0] for name in data["files"]} == {"export-native"}
    assert all(Path(name).is_file() for name in data["files"])


def test_object_of_report(planner, plan_text: str) -> None:
    Path("plan.json").write_text(plan_text)
    assert planner("report", "plan.json", "--json").json.keys() >= {"file", "plan_id", "with_measurement"}
    assert Path("report.html").is_file()


EXAMPLES_OF_EXIT_CODES = [
    (0, ("show", "llama-3-8b")),
    (1, ("defect",)),
    (2, ("solve", "--gpus", 0, "--model", "llama-3-8b", "--cluster", "h100-sxm")),
    (3, ("check", "--gpus", 1, "--model", "llama-3-70b", "--cluster", "h100-sxm")),
    (3, ("solve", "--gpus", 1, "--model", "llama-3-70b", "--cluster", "h100-sxm")),
    (4, ("solve", "--gpus", 8)),
    (4, ("solve", "--gpus", 8, "--model", "llama-3-8b", "--cluster", "cpu")),
    (5, ("fails",)),
]


@pytest.mark.parametrize(("code", "arguments"), EXAMPLES_OF_EXIT_CODES)
def test_exit_codes_by_example(
    planner, monkeypatch: pytest.MonkeyPatch, code: int, arguments: tuple[object, ...]
) -> None:
    def raising(error: Exception) -> click.Command:
        def command() -> None:
            raise error

        return click.Command("broken", callback=command)

    # No input leads to a defect or to a failed run at once, so commands that do are put in.
    broken = {"defect": raising(ZeroDivisionError()), "fails": raising(errors.RunFailedError("rank 1 died"))}
    known = cli.get_command
    monkeypatch.setattr(cli, "get_command", lambda context, name: broken.get(name) or known(context, name))
    outcome = planner(*arguments)
    assert outcome.code == code, outcome.stderr
    assert ("Traceback" in outcome.stderr) is (code == 1)
    assert (code == 0) is (outcome.stderr == "") or code == 3


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("plan.json", ("solve", *SMALL)),
        ("plan.json", ("check", *SMALL)),
        ("profile.json", ("profile",)),
        ("report.html", ("report", "given.json")),
        ("measurement.json", ("run", "given.json")),
        ("profile.json", ("demo",)),
        ("plan.json", ("demo",)),
        ("measurement.json", ("demo",)),
        ("report.html", ("demo",)),
        ("export-native/*", ("export", "given.json", "--to", "native")),
    ],
)
def test_a_file_of_another_schema_is_not_overwritten_without_force(
    planner, plan_text: str, name: str, arguments: tuple[object, ...]
) -> None:
    Path("given.json").write_text(plan_text)
    if arguments[0] == "export":
        name = planner(*arguments, "--json").json["files"][0]
    Path(name).write_text(OTHER_SCHEMA)
    outcome = planner(*arguments)
    assert outcome.code == 2
    assert "--force" in outcome.stderr
    assert Path(name).read_text() == OTHER_SCHEMA


@pytest.mark.parametrize("command", ["solve", "check"])
def test_with_force_it_is(planner, command: str) -> None:
    Path("plan.json").write_text(OTHER_SCHEMA)
    assert planner(command, *SMALL, "--force").code == 0
    assert json.loads(Path("plan.json").read_text())["schema"] == "plan_file/1"
    assert planner(command, *SMALL).code == 0  # and a plan file is replaced without it


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
