"""What users get wrong: one sentence that names it, the right exit code, no traceback, nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

H100 = ("--cluster", "h100-sxm")
SMALL = ("--model", "llama-demo-6m", *H100)


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("solve", "--gpus", 8), 4, "profile.json: no such file"),
        (("solve", "--gpus", 8, "--profile", "p.json"), 4, "planner profile -o p.json"),
        (("solve", "--gpus", 0, *SMALL), 2, "--gpus is 0"),
        (("check", "--gpus", -3, *SMALL), 2, "--gpus is -3"),
        (("solve", "--gpus", 10**9, *SMALL), 2, "--gpus is 1000000000, but must be a whole number from 1 to 1000000"),
        (("solve", "--gpus", "1" * 5000, *SMALL), 2, "is not a valid integer"),
        (("solve", "--gpus", "8.0", *SMALL), 2, "'8.0' is not a valid integer"),
        (("solve", "--gpus", "\x1b[2J\u202e", *SMALL), 2, "is not a valid integer"),
        (("solve", "--gpus", 8, "--model", "\x1b[2J\nx", *H100), 2, "model ?[2J x: neither a preset"),
        (("solve", "--gpus", 8, "--model", "m" * 100_000, *H100), 2, "presets: "),
        (("solve", "--gpus", 8, "--model", "/dev/zero", *H100), 2, "is not a file"),
        (("solve", "--gpus", 8, "--model", "llama-3-8b", "--cluster", "/dev/zero"), 2, "is not a file"),
        (("solve", "--gpus", 8, "--profile", "/dev/zero"), 2, "is not a file"),
        (("solve", "--gpus", 8, *SMALL, "--global-batch", 10**18), 2, "--global-batch is 1000000000000000000"),
        (("solve", "--gpus", 8, *SMALL, "--time-limit", "nan"), 2, "--time-limit is nan"),
        (("check", "--gpus", 8, *SMALL, "--tp", 10**12), 2, "--tp is 1000000000000, but must be"),
        (("check", "--gpus", 8, *SMALL, "--micro-batch", -1), 2, "--micro-batch is -1"),
        (("solve", "--gpus", 8, *SMALL, "-o", "x" * 300), 2, "file name too long"),
        (("show", ""), 2, "the FILE is empty; give a value"),
        (("solve", "--gpus", 8, *SMALL, "--precision", ""), 2, "--precision is empty; give a value or leave it out"),
        (("solve", "--gpus", 8, *SMALL, "--framework="), 2, "--framework is empty"),
        (("solve", "--gpus", 8, *SMALL, "-o", ""), 2, "-o is empty"),
        (("solve", "--gpus", 8, "--model", " ", *H100), 2, "--model is empty"),
        (("export", "plan.json", "--to", ""), 2, "--to is empty; give a value;"),
        (("show", "/dev/zero"), 2, "is not a file"),
        (("solve", "--gpus", 8, "--model", "llama-demo-6m"), 2, "--cluster is missing"),
        (("solve", "--gpus", 8, *H100), 2, "--model is missing"),
        (("solve", "--gpus", 8, "--model", "missing.json", *H100), 2, "missing.json"),
        (("solve", "--gpus", 8, "--model", "llama-3-8", *H100), 2, "llama-3-8b"),
        (("solve", "--gpus", 8, "--model", "llama-3-8b", "--cluster", "h100"), 2, "h100-sxm"),
        (("solve", "--gpus", 8, "--model", "llama-3-8b", "--cluster", "cpu"), 4, "planner profile --device cpu"),
        (("solve", "--gpus", 8, *SMALL, "--framework", "jax"), 2, "native, megatron, torchtitan"),
        (
            ("solve", "--gpus", 8, *SMALL, "--precision", "fp7"),
            2,
            "not supported by this version; valid: bf16, fp16, fp32",
        ),
        (
            ("solve", "--gpus", 8, "--model", "llama-3-8b", "--cluster", "v100-sxm-32gb", "--precision", "bf16"),
            2,
            "fp32",
        ),
        (("solve", "--gpus", 8, *SMALL, "--optimizer", "sgd"), 2, "valid: adamw"),
        (("solve", "--gpus", 8, *SMALL, "--method", "lora"), 2, "valid: pretrain"),
        (("solve", "--gpus", 8, *SMALL, "--seq-len", 129), 2, "at most 128 tokens"),
        (("solve", "--gpus", 8, *SMALL, "--seq-len", 0), 2, "--seq-len is 0"),
        (("solve", "--gpus", 8, *SMALL, "--global-batch", 0), 2, "--global-batch is 0"),
        (("solve", "--gpus", 8, *SMALL, "--global-batch", -8), 2, "--global-batch is -8"),
        (("solve", "--gpus", 8, *SMALL, "--time-limit", 0), 2, "--time-limit is 0"),
        (("solve", "--gpus", 8, *SMALL, "--cp", 2), 2, "--cp is 2, which is not supported by this version; valid: 1"),
        (("solve", "--gpus", 8, *SMALL, "--ep", 8), 2, "--ep is 8"),
        (("check", "--gpus", 8, *SMALL, "--vpp", 2), 2, "--vpp is 2"),
        (("check", "--gpus", 8, *SMALL, "--tp", 0), 2, "--tp is 0"),
        (("check", "--gpus", 8, *SMALL, "--zero", 4), 2, "--zero is 4"),
        (("check", "--gpus", 8, *SMALL, "--schedule", "zbv"), 2, "valid: gpipe, 1f1b"),
        (("check", "--gpus", 8, *SMALL, "--recompute", "selective"), 2, "valid: none, full"),
        (("solve", "--gpus", 8, *SMALL, "-o", "no/such/plan.json"), 2, "no/such does not exist"),
        (("solve", "--gpus", 8, *SMALL, "-o", "."), 2, "not a regular file"),
        (("show", "missing.json"), 2, "missing.json"),
        (("run", "missing.json"), 2, "missing.json: no such file"),
        (("run", "."), 2, "is not a file"),
        (("report", "missing.json"), 2, "missing.json: no such file"),
        (("export", "missing.json", "--to", "megatron"), 2, "missing.json: no such file"),
        (("profile", "--model", "missing.json"), 2, "missing.json"),
        (("profile", "--device", "tpu"), 2, "tpu"),
        (("profile", "--nproc", 0), 2, "--nproc is 0"),
        (("profile", "--seq-len", 1000), 2, "128"),
        (("profile", "--precision", "fp16"), 2, "fp16"),
        (("solve", "--gpus", 8, *SMALL, "--precision", "fp16"), 2, "a framework that has it: megatron"),
        (
            ("solve", "--gpus", 8, "--model", "llama-demo-6m", "--cluster", "v100-sxm-32gb", "--precision", "bf16"),
            2,
            "does not compute in it; valid: fp16, fp32; fp16 takes its place, with loss scaling",
        ),
        (
            ("solve", "--gpus", 8, "--model", "llama-demo-6m", "--cluster", "h100-sxm", "--precision", "fp8"),
            2,
            "--precision is fp8, which is not planned yet (NVIDIA H100 80GB HBM3 has it, with a dense peak of "
            "1.98 PFLOP/s); valid: bf16, fp32",
        ),
        (
            ("check", "--gpus", 8, "--model", "llama-demo-6m", "--cluster", "v100-sxm-32gb", "--precision", "fp8"),
            2,
            "(Tesla V100-SXM2-32GB does not compute in it); valid: fp32",
        ),
        (("profile", "-o", "no/such/profile.json"), 2, "no/such does not exist"),
        (("demo", "--nproc", -1), 2, "--nproc is -1"),
    ],
)
def test_one_sentence_and_the_right_code(
    planner, tmp_path: Path, arguments: tuple[object, ...], code: int, named: str
) -> None:
    outcome = planner(*arguments)
    assert outcome.code == code, outcome.stderr
    assert named in outcome.stderr
    assert outcome.stderr.startswith("planner: ")
    assert outcome.stderr.count("\n") == 1
    assert len(outcome.stderr) < 2100
    assert "\x1b" not in outcome.stderr
    assert outcome.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["profile", "solve", "check"])
def test_help_says_which_models_work(planner, command: str) -> None:
    text = " ".join(planner(command, "--help").stdout.split())
    assert "Hugging Face config.json (file or folder), or module:factory, which is imported" in text


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"architectures": ["MixtralForCausalLM"]}', "\x00"])
def test_a_malformed_config(planner, tmp_path: Path, content: str) -> None:
    config = tmp_path / "config.json"
    config.write_text(content)
    outcome = planner("solve", "--gpus", 8, "--model", config, *H100)
    assert outcome.code == 2
    assert str(config) in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_file_of_another_kind_is_not_overwritten(planner, tmp_path: Path) -> None:
    for command, name in (("solve", "plan.json"), ("check", "plan.json")):
        (tmp_path / name).write_text("my notes")
        outcome = planner(command, "--gpus", 1, *SMALL)
        assert outcome.code == 2
        assert "--force" in outcome.stderr
        assert (tmp_path / name).read_text() == "my notes"


def test_a_head_count_that_tp_does_not_divide(planner, tmp_path: Path) -> None:
    outcome = planner("check", "--gpus", 6, "--model", "llama-3-8b", *H100, "--tp", 3, "--json")
    assert outcome.code == 3
    assert "32" in outcome.json["sentence"]
    assert outcome.json["rule"]
    assert not (tmp_path / "plan.json").exists()


def test_a_batch_that_does_not_divide(planner) -> None:
    outcome = planner("check", "--gpus", 7, *SMALL, "--global-batch", 16, "--dp", 7, "--json")
    assert outcome.code == 3
    assert "16" in outcome.json["sentence"]


def test_a_batch_of_a_billion_sequences_on_one_gpu_is_answered_at_once(planner) -> None:
    batch = 2**31 - 1  # a prime, so that no larger micro-batch divides it
    outcome = planner("check", "--gpus", 1, *SMALL, "--global-batch", batch, "--json")
    assert outcome.code == 3
    assert (outcome.json["rule"], outcome.json["needed"]) == ("num_passes", batch)


def test_seven_gpus_are_a_legal_number(planner) -> None:
    outcome = planner("solve", "--gpus", 7, *SMALL, "--zero", 1, "--json")
    assert outcome.code == 0, outcome.stderr
    plan = outcome.json["plan"]
    assert plan["tp"] * plan["pp"] * plan["dp"] == 7


def test_a_plan_of_a_newer_version_is_refused_by_name(planner, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps({"schema": "plan_file/2"}))
    outcome = planner("report", "plan.json")
    assert outcome.code == 2
    assert "'plan_file/2'" in outcome.stderr
    assert not (tmp_path / "report.html").exists()
