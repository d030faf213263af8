"""A file whose raw config makes another model than the layers beside it is refused, and the sentence says where."""

from __future__ import annotations

from typing import Any

import pytest

from costmodel.errors import BadInputError
from costmodel.spec import LayerRun, Part, Traced
from planner.models.agreement import check_agreement
from planner.models.read import load_model

CONFIG: dict[str, Any] = load_model("llama-3-8b").hf_config
MODEL = load_model("llama-3-8b").spec


def test_a_config_agrees_with_what_was_read_from_it_under_any_name() -> None:
    check_agreement(CONFIG, MODEL.model_copy(update={"name": "mine", "assumptions": ("a sentence",)}), "here")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        # 4096 / 32 heads are 128 dimensions, 4096 / 16 are 256.
        ({"num_attention_heads": 16}, "model.runs[1].layer.mixer.num_heads is 32, but hf_config makes it 16"),
        ({"tie_word_embeddings": True}, "model.runs[2].layer.tied is false, but hf_config makes it true"),
        ({"max_position_embeddings": 4096}, "model.max_seq_len is 8192, but hf_config makes it 4096"),
        ({"vocab_size": -1}, "here: hf_config: vocab_size is -1"),
    ],
)
def test_the_first_difference_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=r"^here: ") as raised:
        check_agreement(CONFIG | changes, MODEL, "here")
    assert words in str(raised.value)


def test_a_model_with_fewer_runs() -> None:
    # Embedding, 26 blocks that attend by turns to a window and to all, head: 28 runs.
    gemma = load_model("gemma-2-2b")
    without_head = gemma.spec.model_copy(update={"runs": gemma.spec.runs[:-1]})
    with pytest.raises(BadInputError, match=r"model\.runs has 27 entries, but hf_config makes 28"):
        check_agreement(gemma.hf_config, without_head, "here")


TRACED_BLOCK = Traced(name="Block", hidden=4096, params=10, flop_per_token=20.0, saved_values_per_token=3.0)
TRACED = MODEL.model_copy(update={"runs": (MODEL.runs[0], LayerRun(layer=TRACED_BLOCK, part=Part.BLOCKS))})


@pytest.mark.parametrize(
    ("hf_config", "architecture"),
    [({"factory": "my.code:model"}, "my.code:model"), ({"architectures": ["NobodyKnowsModel"]}, "NobodyKnowsModel")],
)
def test_what_no_family_reads_is_compared_by_name_alone(hf_config: dict[str, Any], architecture: str) -> None:
    check_agreement(hf_config, TRACED.model_copy(update={"architecture": architecture}), "here")
    with pytest.raises(BadInputError, match=f"is 'LlamaForCausalLM', but hf_config makes it '{architecture}'"):
        check_agreement(hf_config, TRACED, "here")


@pytest.mark.parametrize(
    ("hf_config", "words"),
    [
        ({"factory": "my.code:model"}, "hf_config.factory is 'my.code:model', which no family reads, but no layer"),
        ({"factory": "LlamaForCausalLM"}, "hf_config.factory is 'LlamaForCausalLM', but must be module:factory"),
        (CONFIG | {"factory": "my.code:model"}, "hf_config.factory is 'my.code:model', but must be module:factory"),
        (CONFIG | {"architectures": ["NoSuchClass"]}, 'architectures is ["NoSuchClass"], which no family reads, but'),
        (CONFIG | {"architectures": [], "model_type": "none"}, "model_type is 'none', which no family reads, but no"),
        ({"vocab_size": 8}, "here: hf_config: has neither architectures nor model_type"),
    ],
)
def test_a_config_that_names_nothing_known_is_not_that_of_layers_that_were_read(
    hf_config: dict[str, Any], words: str
) -> None:
    name = hf_config.get("factory") or (hf_config.get("architectures") or ["LlamaForCausalLM"])[0]
    with pytest.raises(BadInputError) as raised:
        check_agreement(hf_config, MODEL.model_copy(update={"architecture": name}), "here")
    assert words in str(raised.value)


def test_the_config_of_another_class_is_another_model() -> None:
    with pytest.raises(BadInputError, match=r"model\.architecture is 'LlamaForCausalLM'"):
        check_agreement(load_model("mistral-7b").hf_config, MODEL, "here")
