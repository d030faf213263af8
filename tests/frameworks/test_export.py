"""Exporting to a folder: what is written, what is refused, and a plan that moves to another framework."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from export_readers import torchtitan_constants
from framework_samples import sample_cluster, sample_model, sample_plan, sample_plan_file

from costmodel.errors import BadInputError
from costmodel.spec import DeviceKind, PlanFile
from planner.frameworks import registry
from planner.frameworks.export import converted, export

PLAN_FILE = sample_plan_file(sample_plan("megatron", tp=2, pp=2, dp=2, zero=1))


@pytest.mark.parametrize(
    ("to", "names"),
    [
        ("native", {"plan.json", "train.sh"}),
        ("megatron", {"args.sh", "train.sh"}),
        ("torchtitan", {"planned_job.py", "train.sh"}),
    ],
)
def test_the_files_of_each_framework(tmp_path: Path, to: str, names: set[str]) -> None:
    paths = export(PLAN_FILE, to, "torchrun", tmp_path / "new" / "folder")
    assert {path.name for path in paths} == names == set(os.listdir(tmp_path / "new" / "folder"))
    for path in paths:
        assert os.access(path, os.X_OK) == (path.suffix == ".sh")


def test_an_earlier_export_is_replaced_and_anything_else_is_not(tmp_path: Path) -> None:
    export(PLAN_FILE, "megatron", "torchrun", tmp_path)
    again = sample_plan_file(sample_plan("megatron", tp=4, dp=2))
    export(again, "megatron", "torchrun", tmp_path)
    assert "--tensor-model-parallel-size 4" in (tmp_path / "args.sh").read_text()

    (tmp_path / "train.sh").write_text("echo mine\n")
    with pytest.raises(BadInputError, match=r"train\.sh: holds something else already"):
        export(PLAN_FILE, "megatron", "torchrun", tmp_path)
    assert "--tensor-model-parallel-size 4" in (tmp_path / "args.sh").read_text(), "nothing was written"
    assert (tmp_path / "train.sh").read_text() == "echo mine\n"

    export(PLAN_FILE, "megatron", "torchrun", tmp_path, force=True)
    assert "--tensor-model-parallel-size 2" in (tmp_path / "args.sh").read_text()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match="cannot be made"):
        export(PLAN_FILE, "megatron", "torchrun", tmp_path / "file" / "folder")


def test_unknown_names_write_nothing(tmp_path: Path) -> None:
    for to, launcher in (("deepspeed", "torchrun"), ("megatron", "slurm")):
        with pytest.raises(BadInputError):
            export(PLAN_FILE, to, launcher, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_plan_that_the_target_cannot_say_is_refused_with_the_rule() -> None:
    plan_file = sample_plan_file(sample_plan("native", dp=2, zero=3))
    with pytest.raises(
        BadInputError, match="cannot be exported to megatron: zero = 3 is not possible with Megatron-LM"
    ):
        converted(plan_file, registry.get("megatron"))


def test_a_plan_for_cpu_ranks_goes_to_the_native_executor_only() -> None:
    plan = sample_plan("native", dp=2)
    plan_file = sample_plan_file(plan, cluster=sample_cluster(2, kind=DeviceKind.CPU))
    assert converted(plan_file, registry.get("native")) == plan_file
    with pytest.raises(BadInputError, match="framework torchtitan runs on cuda devices, not on cpu"):
        converted(plan_file, registry.get("torchtitan"))


def test_a_plan_that_moves_is_priced_anew(tmp_path: Path) -> None:
    export(PLAN_FILE, "native", "torchrun", tmp_path)
    moved = PlanFile.from_json((tmp_path / "plan.json").read_text(), "plan.json")
    assert moved.plan == PLAN_FILE.plan.model_copy(update={"framework": "native"})
    assert moved.stack.name == "native-cuda"
    assert moved.prediction.plan_id == moved.plan.plan_id != PLAN_FILE.plan.plan_id
    assert moved.prediction.terms, "the prediction is that of the cost model"
    assert moved.certificate is None
    assert "chosen for megatron and taken over for native" in moved.assumptions[-1]


def test_a_plan_that_no_longer_fits_is_not_moved() -> None:
    cluster = sample_cluster(8)
    small = cluster.with_device(cluster.device.model_copy(update={"memory_bytes": 2**20}))
    with pytest.raises(BadInputError, match="cannot be exported to native: there it needs at least"):
        converted(sample_plan_file(PLAN_FILE.plan, cluster=small), registry.get("native"))


@pytest.mark.parametrize(
    "name", ['"; touch escaped; "', "$(touch escaped)", "two\nlines = 1", "'''\nescaped = 1", "\\"]
)
def test_a_model_name_is_data(name: str) -> None:
    model = sample_model().model_copy(update={"name": name})
    plan = sample_plan("torchtitan", dp=2)
    texts = registry.get("torchtitan").write(sample_plan_file(plan, model=model), "torchrun")
    constants = torchtitan_constants(texts["planned_job.py"])
    assert constants["MODEL_NAME"] == name
    assert "escaped" not in constants
    assert "lines" not in constants
    for line in texts["train.sh"].splitlines():
        assert line.startswith("#") or "escaped" not in line
