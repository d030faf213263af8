"""The exported script of the native executor trains: torchrun starts the ranks, and they join it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from framework_samples import sample_cluster, sample_plan, sample_plan_file

from costmodel.spec import DeviceKind, Measurement
from planner.frameworks.export import export

HF_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size": 160,
    "vocab_size": 512,
    "max_position_embeddings": 256,
}
"""Of the sample model."""


@pytest.mark.slow
def test_two_cpu_ranks_train_by_the_exported_script(tmp_path: Path) -> None:
    plan = sample_plan("native", pp=2, cut=(4, 2))
    cluster = sample_cluster(2, kind=DeviceKind.CPU)
    export(sample_plan_file(plan, cluster=cluster, hf_config=HF_CONFIG), "native", "torchrun", tmp_path / "job")
    (tmp_path / "text.txt").write_text("To be, or not to be, that is the question. " * 200)

    done = subprocess.run(
        [str(tmp_path / "job" / "train.sh"), "--steps", "2", "--data", "text.txt", "--device", "cpu"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    measured = Measurement.from_json((tmp_path / "measurement.json").read_text(), "measurement.json")
    assert (measured.plan_id, len(measured.losses), len(measured.peak_memory_bytes)) == (plan.plan_id, 2, 2)
