"""torchtitan's settings for plans whose mapping is written out by hand."""

from __future__ import annotations

import pytest
from framework_samples import HF_CONFIG, sample_model, sample_plan, sample_plan_file, sample_workload

from planner.frameworks.torchtitan.write import module_names_per_stage, settings


@pytest.mark.parametrize(
    ("pp", "zero", "replicas", "shards", "reshard"),
    [
        (1, 0, 4, 1, "never"),
        (1, 2, 1, 4, "never"),
        (1, 3, 1, 4, "always"),
        (2, 0, 4, 1, "never"),
        (2, 1, 1, 4, "never"),
    ],
)
def test_zero_stages(pp: int, zero: int, replicas: int, shards: int, reshard: str) -> None:
    job = settings(sample_plan_file(sample_plan("torchtitan", pp=pp, dp=4, zero=zero)))
    assert (job["DATA_PARALLEL_REPLICATE"], job["DATA_PARALLEL_SHARD"]) == (replicas, shards)
    assert job["RESHARD_AFTER_FORWARD"] == reshard


def test_the_local_batch_is_a_microbatch_or_a_whole_step_of_the_pipeline() -> None:
    # 24 sequences over dp = 2 in micro-batches of 3 are 4 micro-batches on each rank.
    workload = sample_workload(global_batch=24)
    accumulated = settings(sample_plan_file(sample_plan("torchtitan", dp=2, micro_batch=3), workload=workload))
    assert (accumulated["LOCAL_BATCH"], accumulated["GLOBAL_BATCH"]) == (3, 24)
    pipelined = settings(sample_plan_file(sample_plan("torchtitan", pp=2, dp=2, micro_batch=3), workload=workload))
    assert (pipelined["LOCAL_BATCH"], pipelined["MICRO_BATCH"], pipelined["GLOBAL_BATCH"]) == (12, 3, 24)


def test_names_of_the_modules_of_uneven_stages() -> None:
    assert module_names_per_stage((1, 3, 2)) == [
        ["tok_embeddings"],
        ["layers.0", "layers.1", "layers.2"],
        ["layers.3", "norm", "lm_head"],
    ]


def test_recompute_of_every_block() -> None:
    assert settings(sample_plan_file(sample_plan("torchtitan", full=(1, 2, 3, 4))))["RECOMPUTE"] is True
    assert settings(sample_plan_file(sample_plan("torchtitan")))["RECOMPUTE"] is False


def test_details_of_the_model() -> None:
    config = HF_CONFIG | {
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 1e6,
            "factor": 4.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 2.0,
            "original_max_position_embeddings": 4096,
        }
    }
    model = sample_model(qk_norm=True, tied=True, head_dim=16, architecture="Qwen3ForCausalLM")
    job = settings(sample_plan_file(sample_plan("torchtitan"), model, hf_config=config))
    assert (job["QK_NORM"], job["TIED_EMBEDDINGS"], job["HEAD_DIM"]) == (True, True, 16)
    assert (job["NORM_EPS"], job["ROPE_THETA"], job["MAX_SEQ_LEN"]) == (1e-5, 1e6, 256)
    assert job["ROPE_SCALING"] == {
        "scaling": "llama",
        "scaling_factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 2.0,
        "original_max_position_embeddings": 4096,
    }
