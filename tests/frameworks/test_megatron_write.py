"""Megatron-LM's arguments for plans and models whose flags are written out by hand."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from export_readers import megatron_options
from framework_samples import HF_CONFIG, sample_model, sample_plan, sample_plan_file, sample_workload

from costmodel.errors import BadInputError
from costmodel.spec import ModelSpec, Plan, Precision, Workload
from planner.frameworks.export import export
from planner.frameworks.megatron.write import pipeline_layout, write


def options(
    plan: Plan,
    model: ModelSpec | None = None,
    workload: Workload | None = None,
    hf_config: dict[str, Any] | None = None,
) -> dict[str, list[str]]:
    return megatron_options(write(sample_plan_file(plan, model, workload, hf_config=hf_config), "torchrun")["args.sh"])


@pytest.mark.parametrize(
    ("cut", "layout"),
    [
        ((3, 2, 2), "Et*2|t*2|tL"),
        ((1, 4, 1), "E|t*4|L"),
        ((2, 2), "Et|tL"),
        ((6,), "Et*4L"),
        ((12, 2), "Et*11|tL"),
    ],
)
def test_layout_letters(cut: tuple[int, ...], layout: str) -> None:
    assert pipeline_layout(cut) == layout


def test_shape_of_a_grouped_query_model() -> None:
    found = options(sample_plan("megatron", tp=2))
    expected = {
        "--num-layers": ["4"],
        "--hidden-size": ["64"],
        "--ffn-hidden-size": ["160"],
        "--num-attention-heads": ["8"],
        "--num-query-groups": ["4"],
        "--group-query-attention": [],
        "--kv-channels": ["8"],
        "--seq-length": ["128"],
        "--max-position-embeddings": ["256"],
        "--normalization": ["RMSNorm"],
        "--norm-epsilon": ["1e-05"],
        "--position-embedding-type": ["rope"],
        "--rotary-base": ["500000"],
        "--swiglu": [],
        "--disable-bias-linear": [],
        "--untie-embeddings-and-output-weights": [],
        # 512 tokens over two tensor ranks: padded to a multiple of 256 x 2, so to 512.
        "--make-vocab-size-divisible-by": ["256"],
        "--sequence-parallel": [],
        "--bf16": [],
    }
    assert {name: found[name] for name in expected} == expected
    for absent in ("--add-qkv-bias", "--qk-layernorm", "--use-rope-scaling", "--recompute-granularity"):
        assert absent not in found


def test_what_a_plain_model_leaves_out() -> None:
    model = sample_model(tied=True, num_kv_heads=8)
    found = options(sample_plan("megatron"), model, sample_workload(precision=Precision.FP32))
    for absent in (
        "--group-query-attention",
        "--untie-embeddings-and-output-weights",
        "--sequence-parallel",
        "--pipeline-model-parallel-layout",
        "--overlap-grad-reduce",
        "--use-distributed-optimizer",
        "--bf16",
    ):
        assert absent not in found


def test_biases_and_norms_of_queries_and_keys() -> None:
    qwen2 = options(sample_plan("megatron"), sample_model(architecture="Qwen2ForCausalLM", qkv_bias=True))
    assert "--disable-bias-linear" in qwen2
    assert "--add-qkv-bias" in qwen2
    qwen3 = options(sample_plan("megatron"), sample_model(architecture="Qwen3ForCausalLM", qk_norm=True))
    assert "--qk-layernorm" in qwen3
    biased = options(sample_plan("megatron"), sample_model(qkv_bias=True, output_bias=True, mlp_bias=True))
    assert "--disable-bias-linear" not in biased


def test_fp16_brings_loss_scaling_by_default() -> None:
    found = options(sample_plan("megatron"), workload=sample_workload(precision=Precision.FP16))
    assert "--fp16" in found
    assert "--bf16" not in found
    assert "--loss-scale" not in found  # a constant scale would switch the dynamic one off


def test_zero_1_is_the_distributed_optimizer() -> None:
    found = options(sample_plan("megatron", dp=2, zero=1))
    assert {"--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather"} <= set(found)


@pytest.mark.parametrize(("full", "method", "num_layers"), [((1, 2, 3, 4), "uniform", "1"), ((1, 3), "block", "1")])
def test_recompute(full: tuple[int, ...], method: str, num_layers: str) -> None:
    found = options(sample_plan("megatron", full=full, pp=2, cut=(3, 3)))
    assert found["--recompute-granularity"] == ["full"]
    assert found["--recompute-method"] == [method]
    assert found["--recompute-num-layers"] == [num_layers]


def test_rope_scaling_of_llama_3() -> None:
    scaling = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    found = options(sample_plan("megatron"), hf_config=HF_CONFIG | {"rope_scaling": scaling})
    assert found["--rope-scaling-factor"] == ["8.0"]
    assert "--use-rope-scaling" in found
    with pytest.raises(BadInputError, match="Megatron-LM has only"):
        options(sample_plan("megatron"), hf_config=HF_CONFIG | {"rope_scaling": scaling | {"high_freq_factor": 2.0}})


def test_a_fractional_rotary_base_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"rope_theta is 10000\.5, but Megatron-LM takes only whole numbers"):
        options(sample_plan("megatron"), hf_config=HF_CONFIG | {"rope_theta": 10000.5})


def test_the_script_refuses_another_version(tmp_path: Path) -> None:
    export(sample_plan_file(sample_plan("megatron")), "megatron", "torchrun", tmp_path)
    checkout = tmp_path / "checkout"
    (checkout / "megatron" / "core").mkdir(parents=True)
    (checkout / "pretrain_gpt.py").touch()
    (checkout / "torchrun").write_text('#!/usr/bin/env bash\nprintf "%s\\n" "$@"\n')
    (checkout / "torchrun").chmod(0o755)
    environment = {"PATH": f"{checkout}:/usr/bin:/bin", "MEGATRON_PATH": str(checkout)}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(tmp_path / "train.sh"), "--train-iters", "5"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    package_info = checkout / "megatron" / "core" / "package_info.py"
    package_info.write_text("MAJOR = 0\nMINOR = 13\nPATCH = 1\nPRE_RELEASE = ''\n")
    refused = run()
    assert refused.returncode == 2
    assert "MEGATRON_PATH holds version 0.13.1, but these arguments are for core_v0.16.1" in refused.stderr

    package_info.write_text("MAJOR = 0\nMINOR = 16\nPATCH = 1\nPRE_RELEASE = ''\n")
    words = run().stdout.split()
    assert words[: words.index("--num-layers")] == [
        "--standalone",
        "--nproc-per-node",
        "1",
        f"{checkout}/pretrain_gpt.py",
    ]
    # The null tokenizer adds one token to the 511, which makes the 512 of the model.
    assert words[words.index("--vocab-size") + 1] == "511"
    assert words[-2:] == ["--train-iters", "5"], "what the user adds comes last and so overrides"

    environment["MEGATRON_PATH"] = str(tmp_path)
    assert "set MEGATRON_PATH to a checkout of Megatron-LM at core_v0.16.1" in run().stderr
