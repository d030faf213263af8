"""From flags to a job: defaults, what was assumed, and where each input comes from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from costmodel.errors import BadInputError
from costmodel.spec import LayerSample, Precision, Profile, Provenance, Schedule, Spread
from planner.cli.layout import read_layout
from planner.cli.question import WorkloadFlags, build_job
from planner.clusters.read import load_cluster
from planner.documents import write_document
from planner.job import Job, Layout
from planner.models.read import load_model


def ask(
    gpus: int = 8,
    model: str | None = "llama-3-8b",
    cluster: str | None = "h100-sxm",
    profile: Path | None = None,
    framework: str = "native",
    **workload: int | str,
) -> Job:
    return build_job(gpus, model, cluster, profile, framework, WorkloadFlags(**workload))  # type: ignore[arg-type]


@pytest.fixture
def profile_of(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a profile of one layer of a model, as if measured on a node of a cluster."""

    def write(model: str, cluster: str) -> Path:
        loaded = load_model(model)
        spread = Spread(median_s=1e-3, low_s=1e-3, high_s=1e-3, num_samples=5)
        sample = LayerSample(
            layer=loaded.spec.layers[1],
            tp=1,
            micro_batch=1,
            seq_len=64,
            precision=Precision.FP32,
            forward=spread,
            backward=spread,
            saved_bytes=1,
        )
        profile = Profile(
            hf_config=loaded.hf_config,
            model=loaded.spec,
            cluster=load_cluster(cluster, 2).spec,
            layers=(sample,),
            collectives=(),
            optimizer=(),
            provenance=Provenance(
                device="a", driver="b", backend="gloo", versions={}, date="c", num_ranks=2, threads_per_rank=1
            ),
        )
        path = tmp_path / "profile.json"
        write_document(path, profile)
        return path

    return write


def test_unset_flags_take_defaults_that_are_named_first() -> None:
    job = ask(gpus=64)
    assert job.workload.global_batch == 512  # 8 sequences per GPU
    assert job.workload.seq_len == 4096  # llama-3-8b takes 8192
    assert job.workload.precision is Precision.BF16
    assert job.first_line[0] == ("Defaults: --global-batch 512, --seq-len 4096, --precision bf16.")
    assert job.input_hashes.keys() == {"model", "cluster"}
    assert job.stack.name == "native-cuda"


def test_set_flags_are_not_named_as_defaults() -> None:
    job = ask(global_batch=32, seq_len=1024, precision="fp32", optimizer="adamw", method="pretrain")
    assert (job.workload.global_batch, job.workload.seq_len, job.workload.precision) == (32, 1024, Precision.FP32)
    assert job.defaults == {}
    assert job.first_line == job.assumptions


def test_a_short_model_and_a_device_without_bf16_change_the_defaults() -> None:
    job = ask(model="llama-demo-6m", cluster="v100-sxm-32gb")
    assert job.assumptions[-1] == (
        "Tesla V100-SXM2-32GB does not compute in bf16, so fp32 is taken; fp16, which it computes in, is what "
        "--framework megatron trains in, with loss scaling."
    )
    assert (job.workload.seq_len, job.workload.precision) == (128, Precision.FP32)
    job = ask(model="llama-demo-6m", cluster="v100-sxm-32gb", framework="megatron")
    assert job.workload.precision is Precision.FP16


def test_what_the_plan_leaves_out_is_said(tmp_path: Path) -> None:
    shape = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2}
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 100, "num_key_value_heads": 2}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"architectures": ["MixtralForCausalLM"], "head_dim": 36, **shape, **experts}))
    said = " ".join(ask(model=str(path)).assumptions)
    assert "Heads of 36 are not a multiple of 8" in said
    assert "does not train MixtralForCausalLM" in said
    assert "expert parallelism is not planned" in said


def test_a_framework_brings_its_stack() -> None:
    assert ask(framework="megatron").stack.name == "megatron-core"


def test_a_profile_brings_model_machine_and_workload(profile_of: Callable[[str, str], Path]) -> None:
    path = profile_of("llama-demo-6m", "h100-sxm")
    job = ask(gpus=64, model=None, cluster=None, profile=path)
    assert job.model == load_model("llama-demo-6m").spec
    assert (job.workload.seq_len, job.workload.precision) == (64, Precision.FP32)  # as measured
    assert job.cluster.num_devices == 64
    assert any("link between nodes is assumed" in sentence for sentence in job.assumptions)
    assert job.input_hashes.keys() == {"profile"}


def test_with_neither_model_nor_cluster_the_profile_of_this_folder_is_used(
    profile_of: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(profile_of("llama-demo-6m", "h100-sxm").parent)
    assert ask(gpus=2, model=None, cluster=None).profile is not None
    assert ask(gpus=2).profile is None


def test_another_model_than_the_profiled_one_is_said(profile_of: Callable[[str, str], Path]) -> None:
    job = ask(gpus=2, cluster=None, profile=profile_of("llama-demo-6m", "h100-sxm"))
    assert any("No layer of llama-3-8b was measured" in sentence for sentence in job.assumptions)
    assert job.workload.seq_len == 4096


def test_a_profile_of_another_device_than_the_cluster_is_refused(profile_of: Callable[[str, str], Path]) -> None:
    path = profile_of("llama-demo-6m", "h100-sxm")
    assert ask(profile=path).cluster.tiers == load_cluster("h100-sxm", 8).spec.tiers
    with pytest.raises(BadInputError, match="measured on NVIDIA H100 80GB HBM3, but --cluster b200"):
        ask(cluster="b200", profile=path)


def test_layout_flags() -> None:
    flags = {"tp": 2, "cp": 1, "pp": None, "zero": 3, "schedule": "gpipe", "recompute": "full"}
    assert read_layout(flags) == Layout(tp=2, cp=1, zero=3, schedule=Schedule.GPIPE, recompute="full")


def test_a_model_that_sees_has_a_length_of_its_own() -> None:
    # 224 / 14 patches a side, squared, and one token for the class.
    assert ask(model="vit-huge").workload.seq_len == 16 * 16 + 1
    with pytest.raises(BadInputError, match="vit-huge works on 257 tokens, whatever the job"):
        ask(model="vit-huge", seq_len=4096)


def test_layers_of_multi_token_prediction_are_said_to_be_left_out() -> None:
    assert any("multi-token prediction" in sentence for sentence in ask(model="deepseek-v3").assumptions)
    assert not any("multi-token prediction" in sentence for sentence in ask(model="llama-3-8b").assumptions)


@pytest.mark.parametrize("framework", ["megatron", "torchtitan"])
def test_a_detail_that_cannot_be_exported_makes_a_plan_that_is_priced_only(framework: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(load_model("llama-3-8b").hf_config | {"hidden_act": "gelu"}))
    job = ask(model=str(config), framework=framework)
    assert any("so the plan is priced only: hf_config: hidden_act is 'gelu'" in said for said in job.assumptions)
    native = ask(model=str(config), framework="native")
    assert not any("priced only" in said for said in native.assumptions)


def test_a_class_that_a_rule_refuses_is_not_said_to_be_priced() -> None:
    said = {framework: ask(model="gpt2", framework=framework).assumptions for framework in ("native", "megatron")}
    assert any("does not train GPT2LMHeadModel" in sentence for sentence in said["native"])
    assert not any("priced only" in sentence for sentence in said["megatron"])
