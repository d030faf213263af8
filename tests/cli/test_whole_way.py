"""The whole way in an empty folder, with real ranks: what a newcomer types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from costmodel.spec import Profile

pytestmark = pytest.mark.slow

TIMEOUT_S = 900


def shell(folder: Path, *arguments: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """`planner` with `arguments` in `folder`, which must exit with `code`."""
    done = subprocess.run(
        [sys.executable, "-m", "planner", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the profile of two CPU ranks."""
    folder = tmp_path_factory.mktemp("way")
    shell(folder, "profile", "--device", "cpu", "--nproc", 2)
    return folder


def test_profile_solve_run_report(profiled: Path) -> None:
    shell(profiled, "solve", "--gpus", 2)
    steps = json.loads(shell(profiled, "run", "plan.json", "--steps", 3, "--json").stdout)
    assert len(steps["losses"]) == len(steps["step_times_s"]) == 3
    assert len(steps["peak_memory_bytes"]) == 2
    assert steps["losses"][-1] < steps["losses"][0]
    assert "with the measured run" in shell(profiled, "report", "plan.json").stdout
    assert {path.name for path in profiled.iterdir()} >= {
        "profile.json",
        "plan.json",
        "measurement.json",
        "report.html",
    }
    for name in ("profile.json", "plan.json", "measurement.json"):
        assert json.loads(shell(profiled, "show", name, "--json").stdout)["kind"] == name.removesuffix(".json")


def test_more_gpus_than_were_profiled_name_the_assumed_link(profiled: Path, tmp_path: Path) -> None:
    solved = shell(profiled, "solve", "--gpus", 64, "-o", tmp_path / "plan.json")
    assert solved.stdout.startswith("Defaults: --global-batch 512")
    assert "the link between nodes is assumed" in " ".join(solved.stdout.split())
    shell(tmp_path, "report", "plan.json")


def test_a_plan_for_another_framework_is_exported_but_not_run(tmp_path: Path) -> None:
    flags = ("--gpus", 2, "--model", "llama-demo-6m", "--cluster", "h100-sxm", "--framework", "megatron")
    shell(tmp_path, "solve", *flags)
    assert "export" in shell(tmp_path, "run", "plan.json", code=2).stderr
    exported = json.loads(shell(tmp_path, "export", "plan.json", "--to", "megatron", "--json").stdout)
    assert all((tmp_path / name).is_file() for name in exported["files"])
    assert exported["version"]


def test_demo(tmp_path: Path) -> None:
    data = json.loads(shell(tmp_path, "demo", "--device", "cpu", "--nproc", 2, "--json").stdout)
    assert {path.name for path in tmp_path.iterdir()} == {
        "profile.json",
        "plan.json",
        "measurement.json",
        "report.html",
    }
    assert len(data["measurement"]["losses"]) == 20
    assert data["measurement"]["losses"][-1] < data["measurement"]["losses"][0]
    local, measured = data["local"], json.loads((tmp_path / "measurement.json").read_text())
    low_s, high_s = local["step_time_low_s"], local["step_time_high_s"]
    assert data["within_interval"] is (low_s <= measured["step_time_median_s"] <= high_s)
    # At most 25 %, unless the machine was so unsteady that the profile itself varied by more than that to either side.
    varied_frac = Profile.from_json((tmp_path / "profile.json").read_text(), "profile.json").variation_frac / 2
    assert (high_s - low_s) / 2 <= max(0.25, varied_frac) * local["step_time_s"] * (1 + 1e-9)
    assert data["large"]["plan"]["tp"] * data["large"]["plan"]["pp"] * data["large"]["plan"]["dp"] == 64
    assert data["large"]["certificate"]["lower_bound_s"] > 0
    page = (tmp_path / "report.html").read_text()
    assert "llama-3-8b" in page
    assert "llama-demo-6m" in page


def test_a_plan_for_gpus_may_run_on_a_cpu_with_a_warning(tmp_path: Path) -> None:
    shell(tmp_path, "solve", "--gpus", 1, "--model", "llama-demo-6m", "--cluster", "h100-sxm", "--precision", "fp32")
    done = shell(tmp_path, "run", "plan.json", "--steps", 2, "--device", "cpu", "--json")
    assert "its prediction does not hold" in done.stderr
    assert json.loads(done.stdout)["within_interval"] is False
