"""Megatron-Core 0.16.1 itself accepts what is exported, and understands it as meant.

It needs an interpreter of its own. Get one with
`python -m venv DIR && DIR/bin/pip install torch==2.13.0 megatron-core==0.16.1` and set
PLANNER_MEGATRON_PYTHON=DIR/bin/python. The wheel holds no argument parser; with MEGATRON_PATH, a checkout of
Megatron-LM at core_v0.16.1 (which also needs six, regex, transformers, triton), the arguments go through it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from framework_samples import sample_model, sample_plan, sample_plan_file, sample_workload

from costmodel.spec import ModelSpec, Plan
from planner.frameworks.megatron.write import arguments
from planner.frameworks.registry import get

PYTHON = os.environ.get("PLANNER_MEGATRON_PYTHON")
CHECKER = Path(__file__).parent / "checkers" / "megatron_checker.py"

TRAINER_ONLY = {
    "--adam-beta1",
    "--adam-beta2",
    "--adam-eps",
    "--clip-grad",
    "--eval-iters",
    "--global-batch-size",
    "--group-query-attention",
    "--log-interval",
    "--log-throughput",
    "--lr-decay-style",
    "--make-vocab-size-divisible-by",
    "--max-position-embeddings",
    "--micro-batch-size",
    "--optimizer",
    "--overlap-grad-reduce",
    "--overlap-param-gather",
    "--position-embedding-type",
    "--rotary-base",
    "--seq-length",
    "--untie-embeddings-and-output-weights",
    "--use-distributed-optimizer",
    "--weight-decay",
}
"""Arguments of the trainer, which megatron-core alone does not know."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PYTHON is None, reason="PLANNER_MEGATRON_PYTHON is not set; see the top of this file"),
]


def understood(plan: Plan, model: ModelSpec) -> dict[str, Any]:
    """What Megatron-Core makes of the exported arguments."""
    assert get("megatron").refusal(model, sample_workload(), plan) is None
    words = [word for group in arguments(sample_plan_file(plan, model)).values() for word in group]
    assert PYTHON is not None
    done = subprocess.run(
        [PYTHON, str(CHECKER), str(plan.num_ranks), *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert set(result.pop("unread")) <= TRAINER_ONLY
    return result


def test_an_uneven_pipeline_with_recompute() -> None:
    plan = sample_plan("megatron", full=(1, 2, 4), tp=2, pp=2, dp=2, zero=1, cut=(4, 2))
    assert understood(plan, sample_model()) == {
        "stages": [["embedding", "decoder", "decoder", "decoder"], ["decoder", "loss"]],
        "tp": 2,
        "pp": 2,
        "sequence_parallel": True,
        "num_query_groups": 4,
        "ffn_hidden_size": 160,
        "gated": True,
        "biases": [False, False],
        "recompute": ["full", "block", 2],
    }


def test_embedding_and_head_alone_and_biases() -> None:
    plan = sample_plan("megatron", full=(1, 2, 3, 4), tp=4, pp=3, cut=(1, 4, 1))
    found = understood(plan, sample_model(qkv_bias=True, tied=True))
    assert found["stages"] == [["embedding"], ["decoder"] * 4, ["loss"]]
    assert (found["tp"], found["num_query_groups"], found["biases"]) == (4, 4, [False, True])
    assert found["recompute"] == ["full", "uniform", 1]


def test_one_rank() -> None:
    found = understood(sample_plan("megatron"), sample_model())
    assert (found["stages"], found["sequence_parallel"], found["recompute"]) == (None, False, [None, None, None])
