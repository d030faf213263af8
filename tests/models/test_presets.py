"""Shipped models: each is what was published, states what its class reads, and is found by the names people use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.models import presets
from planner.models.presets import DEMO_MODEL, FOLDER, preset_names, preset_path
from planner.models.read import load_model

SOURCES: dict[str, dict[str, Any]] = yaml.safe_load(presets.SOURCES.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_has_a_source_and_its_published_size(name: str) -> None:
    model = load_model(name)
    assert SOURCES[name]["source"]
    assert (model.where, model.spec.name) == (f"preset {name}", name)
    if name != DEMO_MODEL:
        assert model.spec.params_total == SOURCES[name]["params_total"]


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_states_what_its_class_reads(name: str) -> None:
    # What no config says is how many images a sequence holds, and how long the text of an encoder is.
    said = [
        sentence
        for sentence in load_model(name).spec.assumptions
        if "image" not in sentence and "The encoder is taken to read" not in sentence
    ]
    assert said == []


def test_sources_name_only_presets() -> None:
    assert set(SOURCES) == set(preset_names())
    assert {key for source in SOURCES.values() for key in source} == {"source", "hub", "params_total"}


def named(text: str) -> str | None:
    path = preset_path(text)
    return None if path is None else path.stem


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_is_found_by_its_name_and_its_repositories(name: str) -> None:
    for text in (name, name.upper(), name.replace("-", "_"), name.replace("-", " "), *SOURCES[name].get("hub", ())):
        assert named(text) == name


def test_no_repository_stands_for_two_presets() -> None:
    ids = [hub_id.lower() for source in SOURCES.values() for hub_id in source.get("hub", ())]
    assert len(ids) == len(set(ids))
    assert not set(ids) & set(preset_names())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("llama3-8b", "llama-3-8b"),
        ("llama-3-8B", "llama-3-8b"),
        ("Llama3.1_405B", "llama-3.1-405b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("meta-llama/meta-llama-3-8b", "llama-3-8b"),
        ("Qwen/Qwen3-8B", "qwen3-8b"),
        ("Qwen-3-30B-A3B", "qwen3-30b-a3b"),
        ("GPT-2 XL", "gpt2-xl"),
        ("gpt-3-175b", "gpt3-175b"),
        ("mixtral8x7b", "mixtral-8x7b"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-v3"),
        ("bert-base-uncased", "bert-base"),
    ],
)
def test_other_spellings(text: str, name: str) -> None:
    assert named(text) == name
    assert load_model(text).where == f"preset {name}"


@pytest.mark.parametrize(
    "text",
    [
        *("llama-38b", "llama-3-80b", "llama-3.8b", "llama-3-8b-instruct", "llama", "8b"),
        *("meta-llama/llama-3-8b", "Qwen/Qwen3", "Qwen/Qwen3-8B/", "/llama-3-8b", "./llama-3-8b", "llama-3-8b.json"),
        *("../presets/llama-3-8b", "", "-", "llama-3-8b\0", "\udcff", "x" * 5000),
    ],
)
def test_a_name_is_not_guessed(text: str) -> None:
    assert named(text) is None


def test_a_name_as_it_is_listed_wins_over_a_file_and_other_spellings_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folders = ("llama-3-8b", "Llama-3-8B", "Qwen/Qwen3-8B")
    for folder in map(Path, folders):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text((FOLDER / "gpt2.json").read_text())
    assert [load_model(text).spec.architecture for text in folders] == [
        "LlamaForCausalLM",
        "GPT2LMHeadModel",
        "GPT2LMHeadModel",
    ]


def test_the_list_of_repositories_is_read_only_for_what_is_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(presets, "_of_repository", asked.append)
    assert named("llama-3-8b") == named("Llama3-8B") == "llama-3-8b"
    assert asked == []
    assert named("meta-llama/Meta-Llama-3-8B") is None
    assert asked == ["meta-llama/Meta-Llama-3-8B"]


@pytest.mark.slow
@pytest.mark.parametrize("name", preset_names())
def test_transformers_builds_as_many_parameters(name: str) -> None:
    import torch
    import transformers

    config = json.loads((FOLDER / f"{name}.json").read_text())
    model_class = getattr(transformers, config["architectures"][0])
    with torch.device("meta"):
        built = model_class(model_class.config_class.from_dict(config))
    assert load_model(name).spec.params_total == sum(parameter.numel() for parameter in built.parameters())
