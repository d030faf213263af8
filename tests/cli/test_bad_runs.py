"""Plans that cannot be trained, reported or exported here: refused before anything is started or written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from planner.cli import device


@pytest.fixture
def plan(tmp_path: Path, plan_text: str) -> Path:
    """A plan for two ranks, alone in its folder."""
    path = tmp_path / "plan.json"
    path.write_text(plan_text)
    return path


NOTE = "the plan was made for NVIDIA H100 80GB HBM3, but runs on cpu here: its prediction does not hold"
"""What `run` may say before it refuses."""


def assert_refused(outcome: Any, code: int, *words: str) -> None:
    """One sentence on stderr that names `words`, and nothing on stdout."""
    assert outcome.code == code, outcome.stderr
    *notes, sentence = outcome.stderr.splitlines()
    assert set(notes) <= {NOTE}
    assert sentence.startswith("planner: ")
    assert all(word in sentence for word in words), sentence
    assert outcome.stdout == ""


def no_cuda(monkeypatch: pytest.MonkeyPatch, num_devices: int = 0) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: num_devices)
    device.gpus_here.cache_clear()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--steps", 0), ("--steps is 0", "from 1 to")),
        (("--steps", 10**18), (f"--steps is {10**18}", "from 1 to")),
        (("--lr", -1), ("--lr is -1", "above 0")),
        (("--lr", "nan"), ("--lr is nan",)),
        (("--lr", "inf"), ("--lr is inf",)),
        (("--seed", -1), ("--seed is -1", "from 0 to")),
        (("--seed", 2**64), ("--seed is", "from 0 to")),
        (("--data", "missing.txt"), ("missing.txt",)),
        (("--data", "/dev/null"), ("/dev/null",)),
        (("--device", "tpu"), ("tpu", "auto, cpu or cuda")),
        (("-o", "no/such.json"), ("no does not exist", "give another -o")),
        (("-o", "plan.json"), ("plan.json: holds something else already", "--force")),
    ],
)
def test_flags_of_run(planner, plan: Path, monkeypatch: pytest.MonkeyPatch, flags: Any, words: Any) -> None:
    no_cuda(monkeypatch)
    before = plan.read_text()
    assert_refused(planner("run", "plan.json", *flags), 2, *words)
    assert [path.name for path in plan.parent.iterdir()] == ["plan.json"]
    assert plan.read_text() == before


def test_ranks_of_torchrun_that_are_not_those_of_the_plan(planner, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "3",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "3",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29555",
    }.items():
        monkeypatch.setenv(name, value)
    outcome = planner("run", "plan.json", "--device", "cpu")
    assert_refused(outcome, 2, "torchrun started 3 ranks, but the plan is for 2", "--gpus 3")
    assert [path.name for path in plan.parent.iterdir()] == ["plan.json"]


def test_no_cuda_device(planner, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_cuda(monkeypatch)
    assert_refused(planner("run", "plan.json", "--device", "cuda"), 4, "no CUDA device here", "--device cpu")
    assert_refused(planner("profile", "--device", "cuda"), 4, "no CUDA device here", "--device cpu")
    assert [path.name for path in plan.parent.iterdir()] == ["plan.json"]


def test_more_cuda_ranks_than_devices(planner, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_cuda(monkeypatch, 1)
    outcome = planner("run", "plan.json", "--device", "cuda")
    assert_refused(outcome, 2, "2", "1 CUDA device", "--device cpu")
    assert_refused(planner("profile", "--device", "cuda", "--nproc", 2), 2, "--nproc is 2", "from 1 to 1 on cuda")
    assert [path.name for path in plan.parent.iterdir()] == ["plan.json"]


def test_a_plan_for_another_framework_is_exported_but_not_run(planner, tmp_path: Path) -> None:
    flags = ("--gpus", 2, "--model", "llama-demo-6m", "--cluster", "h100-sxm", "--framework", "megatron")
    assert planner("solve", *flags).code == 0
    assert_refused(planner("run", "plan.json", "--device", "cpu"), 2, "'megatron'", "planner export")
    exported = planner("export", "plan.json", "--to", "megatron", "--json").json
    assert all((tmp_path / name).is_file() for name in exported["files"])


def edited(text: str, *path: str, value: object) -> str:
    """The plan file `text` with another value at `path`."""
    data = json.loads(text)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("schema",), "plan_file/99", ("schema is 'plan_file/99'", "'plan_file/1'")),
        (("plan", "schema"), "plan/99", ("schema is 'plan/99'", "'plan/1'")),
        (("plan", "colour"), 1, ("unknown key 'plan.colour'",)),
        (("plan", "tp"), "two", ("plan.tp is 'two'",)),
        (("plan", "tp"), 0, ("plan.tp is 0",)),
        (("plan", "tp"), 10**9, ("the prediction belongs to plan", "solve")),
        (("workload", "global_batch"), 10**18, ("global_batch", "solve")),
        (("workload", "global_batch"), 7, ("7", "solve")),
        (("workload", "seq_len"), 48, ("workload and prediction do not belong together", "solve")),
        (("prediction", "tokens_per_s_per_gpu"), 1.0, ("tokens_per_s_per_gpu is 1", "solve")),
        (("prediction", "step_time_s"), 1e-9, ("1e-09 does not lie between its bounds",)),
        (
            ("cluster", "nodes", 0, "node", "device", "memory_bytes"),
            -1,
            ("cluster.nodes[0].node.device.memory_bytes is -1",),
        ),
        (("hf_config",), [], ("hf_config",)),
        (("plan", "tp"), True, ("plan.tp is true, but must be a number",)),
        (("stack", "norm_keeps_fp32_copy"), 1, ("stack.norm_keeps_fp32_copy is 1, but must be true or false",)),
        (
            ("stack", "logits_bytes_per_logit", "bf16"),
            -4,
            ("logits_bytes_per_logit.bf16 is -4, but",),
        ),
        (("stack", "step_overhead_s"), 1e9, ("stack.step_overhead_s is 1000000000.0, but must be at most 3600",)),
        (("prediction", "mfu_frac"), 0.9, ("prediction: mfu_frac is 0.9, but the FLOP", "solve again")),
        (("certificate", "solved"), 10**6, ("certificate: pruned, solved and refused layouts are", "considered is")),
        (("certificate", "refused"), {"x": -1}, ("certificate.refused.x is -1, but must be at least 0",)),
        (("alternatives", 0, "plan", "micro_batch"), 7, ("alternatives[0]: the prediction belongs to plan",)),
        (
            ("hf_config", "intermediate_size"),
            1024,
            ("hf_config and model are not one model: model.runs[1].layer.feed_forward.ffn_hidden is", "makes it 1024"),
        ),
        (("hf_config", "num_hidden_layers"), 3, ("model.runs[1].count is", "hf_config makes it 3")),
        (("hf_config", "architectures"), ["MistralForCausalLM"], ("model.architecture is 'LlamaForCausalLM'",)),
        (("hf_config", "hidden_size"), "wide", ("hf_config: hidden_size is 'wide'",)),
        (("hf_config", "factory"), "my.code:model", ("hf_config.factory is 'my.code:model'", "stand alone")),
    ],
)
@pytest.mark.parametrize("command", ["run", "report", "export", "show"])
def test_plan_files_that_were_edited(
    planner, tmp_path: Path, plan_text: str, command: str, path: Any, value: object, words: Any
) -> None:
    (tmp_path / "plan.json").write_text(edited(plan_text, *path, value=value))
    outcome = planner(command, "plan.json", *(("--to", "native") if command == "export" else ()))
    assert outcome.code == 2, outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert "plan.json" in outcome.stderr
    assert all(word in outcome.stderr for word in words), outcome.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize("command", ["run", "report"])
def test_not_even_force_replaces_the_plan_that_is_read(planner, tmp_path: Path, plan_text: str, command: str) -> None:
    (tmp_path / "plan.json").write_text(plan_text)
    assert_refused(planner(command, "plan.json", "-o", "./plan.json", "--force"), 2, "is the file that is read")
    assert (tmp_path / "plan.json").read_text() == plan_text


def test_a_plan_that_does_not_fit_is_exported_with_a_warning(planner, tmp_path: Path) -> None:
    flags = ("--gpus", 8, "--model", "llama-3-70b", "--cluster", "h100-sxm", "--global-batch", 8, "--dp", 8)
    assert planner("check", *flags).code == 3
    exported = planner("export", "plan.json", "--to", "native")
    assert exported.code == 0
    assert "does not fit" in exported.stderr


@pytest.mark.parametrize("command", ["run", "report", "export", "show"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\x00\x01", b"\xff", b'{"schema": "plan/99"}', b"[" * 100_000])
def test_files_that_are_no_plan(planner, tmp_path: Path, command: str, content: bytes) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    outcome = planner(command, "plan.json", *(("--to", "native") if command == "export" else ()))
    assert_refused(outcome, 2, "plan.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--to", "jax"), ("native, megatron, torchtitan",)),
        (("--to", "native", "--launcher", "ssh"), ("ssh", "torchrun")),
        (("--to", "native", "-o", "plan.json"), ("plan.json", "-o")),
        (("--to", "native", "-o", "plan.json/inside"), ("plan.json/inside", "-o")),
        (("--to", "native", "-o", "/proc/planner"), ("/proc/planner", "-o")),
    ],
)
def test_exports_that_cannot_be(planner, plan: Path, flags: Any, words: Any) -> None:
    assert_refused(planner("export", "plan.json", *flags), 2, *words)
    assert [path.name for path in plan.parent.iterdir()] == ["plan.json"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("-o", "plan.json"), ("holds something else already", "--force")),
        (("-o", "no/report.html"), ("does not exist", "-o")),
        (("--measurement", "missing.json"), ("missing.json: no such file",)),
        (("--measurement", "plan.json"), ("'plan_file/1'", "'measurement/1'")),
    ],
)
def test_reports_that_cannot_be(planner, plan: Path, flags: Any, words: Any) -> None:
    before = plan.read_text()
    assert_refused(planner("report", "plan.json", *flags), 2, *words)
    assert [path.name for path in plan.parent.iterdir()] == ["plan.json"]
    assert plan.read_text() == before


def test_the_same_in_a_process_of_its_own(plan: Path) -> None:
    command = [sys.executable, "-m", "planner", "report", "plan.json", "-o", "no/report.html"]
    environment = os.environ | {"PYTHONWARNINGS": "error"}
    done = subprocess.run(command, cwd=plan.parent, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("planner: output no/report.html: the folder ")
    assert done.stderr.count("\n") == 1
