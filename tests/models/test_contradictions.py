"""What a layer kind refuses is said in the keys of the file, and ordinary words stay as they are."""

from __future__ import annotations

from planner.models.config import Config
from planner.models.keys.key import Key
from planner.models.keys.messages import contradiction, origin

CONFIG = Config({"heads": 8, "n_head": -1}, "config.json", "LlamaForCausalLM", "text_config.")
FIELDS = {"hidden": Key("heads"), "heads": Key("n_head"), "window": 4}


def said(message: str, config: Config = CONFIG) -> str:
    return contradiction(ValueError(message), FIELDS, config)


def test_a_field_with_its_value_becomes_the_key_and_the_same_word_elsewhere_stays() -> None:
    assert said("hidden 8 is too wide: the hidden state of a window 4 is 6") == (
        "text_config.heads 8 is too wide: the hidden state of a window 4 is 6"
    )


def test_a_key_that_is_called_as_another_field_is_not_replaced_again() -> None:
    assert said("hidden is 8, but heads -1") == "text_config.heads is 8, but text_config.n_head -1"


def test_a_number_that_the_file_does_not_hold_is_said_to_be_the_default() -> None:
    silent = Config({"heads": 8}, "config.json", "LlamaForCausalLM")
    assert said("hidden 8 and heads 3", silent) == "heads 8 and n_head 3 (the default of LlamaForCausalLM)"


def test_no_key_is_made_up_for_a_constant() -> None:
    assert origin(64, CONFIG) == "width of a head"
    assert origin(Key("kv_channels", default=128), CONFIG) == "text_config.kv_channels"
