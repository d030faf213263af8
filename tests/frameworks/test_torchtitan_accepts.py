"""torchtitan 0.3.0 itself builds what is exported: same parameters, same stages, same shards.

It needs an interpreter of its own. Get one with
`python -m venv DIR && DIR/bin/pip install torch==2.13.0 torchtitan==0.3.0 triton==3.9.0`
and set PLANNER_TORCHTITAN_PYTHON=DIR/bin/python.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from framework_samples import sample_model, sample_plan, sample_plan_file

from costmodel.spec import ModelSpec, Plan, Schedule
from planner.frameworks.export import export

PYTHON = os.environ.get("PLANNER_TORCHTITAN_PYTHON")
CHECKER = Path(__file__).parent / "checkers" / "torchtitan_checker.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PYTHON is None, reason="PLANNER_TORCHTITAN_PYTHON is not set; see the top of this file"),
]


def build(folder: Path, plan: Plan, rank: int, model: ModelSpec | None = None) -> dict[str, Any]:
    """What torchtitan builds for `rank` of an exported plan."""
    export(sample_plan_file(plan, model), "torchtitan", "torchrun", folder)
    assert PYTHON is not None
    done = subprocess.run(
        [PYTHON, str(CHECKER), str(plan.num_ranks), str(rank)],
        env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_uneven_stages_of_a_pipeline(tmp_path: Path) -> None:
    plan = sample_plan("torchtitan", full=(1, 2, 3, 4), tp=2, pp=2, dp=2, zero=1, cut=(4, 2))
    first, last = build(tmp_path, plan, rank=0), build(tmp_path, plan, rank=7)
    assert first["params_total"] == last["params_total"] == sample_model().params_total
    assert first["stage_params"] + last["stage_params"] == sample_model().params_total
    assert (first["num_blocks"], first["has_embedding"], first["has_head"]) == (3, True, False)
    assert (last["num_blocks"], last["has_embedding"], last["has_head"]) == (1, False, True)
    # 8 sequences over dp = 2 in micro-batches of 1.
    assert (first["schedule"], first["num_microbatches"]) == ("Schedule1F1B", 4)
    assert first["recompute"]
    # Last stage: two norms of a block and the final one, 64 each, are split by dp = 2 only; the rest also by tp = 2.
    norms = 3 * 64
    assert last["local_params"] == (last["stage_params"] - norms) // 4 + norms // 2


def test_a_stage_that_holds_the_embedding_alone(tmp_path: Path) -> None:
    plan = sample_plan("torchtitan", pp=2, cut=(1, 5), schedule=Schedule.GPIPE)
    first = build(tmp_path, plan, rank=0)
    assert (first["num_blocks"], first["has_embedding"], first["schedule"]) == (0, True, "ScheduleGPipe")


@pytest.mark.parametrize(("zero", "num_shards"), [(0, 1), (2, 4), (3, 4)])
def test_shards_of_data_parallel_ranks(tmp_path: Path, zero: int, num_shards: int) -> None:
    built = build(tmp_path, sample_plan("torchtitan", dp=4, zero=zero), rank=3)
    assert built["local_params"] == sample_model().params_total // num_shards
    assert not built["recompute"]


def test_tied_embeddings_and_norms_of_queries_and_keys(tmp_path: Path) -> None:
    model = sample_model(tied=True, qk_norm=True, head_dim=16, architecture="Qwen3ForCausalLM")
    built = build(tmp_path, sample_plan("torchtitan", tp=2, dp=2, zero=3), rank=0, model=model)
    assert built["params_total"] == model.params_total


def test_a_vocabulary_that_tp_does_not_divide(tmp_path: Path) -> None:
    model = sample_model(vocab=511)
    built = build(tmp_path, sample_plan("torchtitan", tp=2, dp=2, zero=3), rank=0, model=model)
    assert built["params_total"] == model.params_total
