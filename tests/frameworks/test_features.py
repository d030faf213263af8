"""What a model has beyond a plain decoder, and that no framework is said to express what its files cannot say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framework_samples import HF_CONFIG, sample_model, sample_plan, sample_plan_file, sample_workload

from costmodel.errors import BadInputError
from planner.frameworks.export import export
from planner.frameworks.features import Feature, features_of
from planner.frameworks.framework import Framework
from planner.frameworks.megatron import MEGATRON
from planner.frameworks.registry import FRAMEWORKS
from planner.frameworks.torchtitan import TORCHTITAN
from planner.models.presets import preset_names
from planner.models.read import load_model, read_model

OTHERS = (MEGATRON, TORCHTITAN)
LAYER_NORMS_AND_BIASES = (Feature.UNGATED, Feature.BIASES, Feature.OTHER_NORMS, Feature.OTHER_HEAD)
"""Of decoders before Llama, whose last norm, before the head, is a layer norm too."""


@pytest.mark.parametrize(
    ("preset", "features"),
    [
        ("llama-3-8b", set()),
        ("mistral-7b", set()),
        ("qwen2.5-7b", {Feature.BIASES}),
        ("qwen3-8b", {Feature.QK_NORM}),
        ("mixtral-8x7b", {Feature.EXPERTS}),
        ("deepseek-v2-lite", {Feature.LATENT_ATTENTION, Feature.EXPERTS}),
        ("gpt-oss-20b", {Feature.SINKS, Feature.EXPERTS, Feature.BIASES}),
        ("gemma-2-2b", {Feature.OTHER_NORMS}),
        ("olmo-2-7b", {Feature.OTHER_QK_NORM, Feature.OTHER_NORMS}),
        ("minimax-m2", {Feature.OTHER_QK_NORM, Feature.EXPERTS}),
        (
            "qwen3-next-80b-a3b",
            {Feature.LINEAR_ATTENTION, Feature.QK_NORM, Feature.OTHER_ATTENTION, Feature.EXPERTS},
        ),
        ("mamba-130m", {Feature.STATE_SPACE, Feature.HALF_BLOCKS, Feature.OTHER_NORMS}),
        ("gpt2", {*LAYER_NORMS_AND_BIASES, Feature.POSITIONS}),
        ("phi-2", {*LAYER_NORMS_AND_BIASES, Feature.PARALLEL}),
        # How queries, keys and values are laid out is no part of its own.
        ("pythia-1b", {*LAYER_NORMS_AND_BIASES, Feature.PARALLEL}),
        ("bloom-560m", {*LAYER_NORMS_AND_BIASES, Feature.SCORE_BIASES, Feature.OTHER_EMBEDDING}),
        (
            "t5-small",
            {
                *(Feature.STACKS, Feature.CROSS_ATTENTION, Feature.BOTH_WAYS, Feature.SCORE_BIASES),
                *(Feature.UNGATED, Feature.OTHER_NORMS, Feature.OTHER_EMBEDDING),
            },
        ),
    ],
)
def test_features_of_known_models(preset: str, features: set[Feature]) -> None:
    assert set(features_of(load_model(preset).spec)) == features


def test_a_model_that_scores_texts_has_no_head_over_the_vocabulary() -> None:
    llama = load_model("llama-3-8b").hf_config
    scores = read_model({**llama, "architectures": ["LlamaForSequenceClassification"]}, "here", "scores")
    assert features_of(scores) == (Feature.NO_HEAD,)


@pytest.mark.parametrize("framework", OTHERS, ids=lambda framework: framework.name)
@pytest.mark.parametrize(
    ("preset", "reason"),
    [
        ("t5-small", "cross-attention"),
        ("mamba-130m", "state-space layers"),
        ("deepseek-v3", "latent attention, mixtures of experts"),
        ("gpt-oss-20b", "attention sinks"),
        ("bloom-560m", "biases on attention scores"),
        ("phi-2", "attention and feed-forward network side by side"),
        ("gemma-2-2b", "norms other than two root-mean-square norms"),
    ],
)
def test_a_class_is_refused_by_what_it_has(framework: Framework, preset: str, reason: str, tmp_path: Path) -> None:
    model = load_model(preset).spec
    refusal = framework.refusal(model, sample_workload(), sample_plan(framework.name, num_layers=len(model.layers) - 2))
    assert refusal is not None
    assert f"architecture {model.architecture} of {preset} cannot be expressed for {framework.title}: it has" in (
        refusal.sentence
    )
    assert reason in refusal.sentence
    plan = sample_plan("native", num_layers=len(model.layers) - 2)
    with pytest.raises(BadInputError, match=f"{framework.title} does not train {model.architecture}"):
        export(sample_plan_file(plan, model=model), framework.name, "torchrun", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("framework", OTHERS, ids=lambda framework: framework.name)
def test_every_preset_of_a_class_that_is_trained_can_be_said(framework: Framework) -> None:
    for preset in preset_names():
        model = load_model(preset).spec
        if model.architecture in framework.trains:
            workload = sample_workload(seq_len=1024)
            plan = sample_plan(framework.name, num_layers=len(model.layers) - 2)
            assert framework.refusal(model, workload, plan) is None, preset


def test_biases_are_said_for_megatron_alone() -> None:
    example = (sample_model(qkv_bias=True), sample_workload(), sample_plan("any"))
    assert MEGATRON.refusal(*example) is None
    refusal = TORCHTITAN.refusal(*example)
    assert refusal is not None
    assert "tiny has biases in linear layers, which cannot be expressed for torchtitan" in refusal.sentence


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
@pytest.mark.parametrize(
    "change",
    [{"hidden_act": "gelu"}, {"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, {"rope_parameters": "none"}],
)
def test_details_are_checked_before_there_is_a_plan(framework: Framework, change: dict[str, Any]) -> None:
    framework.check_config(HF_CONFIG, sample_model(), sample_workload())
    if framework.name == "native":
        framework.check_config(HF_CONFIG | change, sample_model(), sample_workload())
    else:
        with pytest.raises(BadInputError, match="hf_config: "):
            framework.check_config(HF_CONFIG | change, sample_model(), sample_workload())


def test_megatron_rotates_by_whole_bases_alone() -> None:
    config = HF_CONFIG | {"rope_theta": 10000.5}
    TORCHTITAN.check_config(config, sample_model(), sample_workload())
    with pytest.raises(BadInputError, match=r"rope_theta is 10000\.5, but Megatron-LM takes only whole numbers"):
        MEGATRON.check_config(config, sample_model(), sample_workload())
