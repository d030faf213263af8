"""Cells are read strictly: what is missing, contradictory or absurd is named with its value."""

from __future__ import annotations

import pytest

from planner.validation.configuration import UNKNOWN_WORDS, WITH_DEFAULTS, Configuration
from planner.validation.express import Job, express
from planner.validation.unsaid import FAULTY, Unsaid
from tests.validation.sample_runs import FORBIDDEN, SMALL, configuration


def test_a_configuration_has_no_field_that_no_prediction_may_depend_on() -> None:
    assert not set(FORBIDDEN) & set(Configuration.model_fields)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"hidden": ""}, "hidden is missing"),
        ({"layers": "0"}, "layers is '0', but must be at least 1"),
        ({"layers": "many"}, "layers is 'many', but must be a whole number"),
        ({"n_gpus": "-8"}, "n_gpus is '-8', but must be at least 1"),
        ({"n_gpus": "8.5"}, "n_gpus is '8.5', but must be a whole number"),
        ({"seq_len": "1e99"}, "seq_len is '1e99', but must be a whole number"),
        ({"seq_len": "999999999999"}, "seq_len is '999999999999', but must be at most 100000000"),
        ({"nic_gbit_per_s_per_gpu": "nan"}, "nic_gbit_per_s_per_gpu is 'nan', but must be a finite number"),
        ({"gated_mlp": "2"}, "gated_mlp is '2', but must be true or false"),
        ({"zero": "4"}, "zero is '4', but must be at most 3"),
        ({"heads": "15"}, "heads is 15, no multiple of kv_heads 8"),
        ({"experts": "8", "moe_ffn_hidden": "512"}, "top_k is missing, but experts is 8"),
        ({"experts": "8", "top_k": "9"}, "top_k is 9, above experts 8"),
        ({"top_k": "2"}, "experts is missing, but top_k is 2"),
        ({"ffn_hidden": ""}, "ffn_hidden is missing"),
        ({"dense_first_layers": "9"}, "dense_first_layers is 9, above layers 8"),
        ({"heads": "24", "kv_heads": "24"}, "head_dim is missing, and hidden 1024 is no multiple of heads 24"),
        ({"memory_counter": "guessed"}, "memory_counter is 'guessed', but must be "),
        ({"zero_group": "half"}, "zero_group is 'half', but must be a number or all"),
    ],
)
def test_a_cell_at_fault_is_named_with_its_value(cells: dict[str, str], sentence: str) -> None:
    found = Configuration.from_cells({**SMALL, **cells})
    assert isinstance(found, Unsaid)
    assert found.reason == FAULTY
    assert found.note.startswith(sentence)


def test_other_columns_are_not_looked_at() -> None:
    cells = {**SMALL, **dict.fromkeys(FORBIDDEN, "anything")}
    assert Configuration.from_cells(cells) == Configuration.from_cells(SMALL)


@pytest.mark.parametrize("word", ["unknown", "Unknown", "auto", "?", "n/a", "N/A"])
@pytest.mark.parametrize("name", WITH_DEFAULTS)
def test_a_cell_that_says_unknown_is_a_blank_one_with_its_note(name: str, word: str) -> None:
    assert word.lower() in UNKNOWN_WORDS
    found, blank = configuration(**{name: word}), configuration(**{name: ""})
    assert found == blank
    job = express(found)
    assert isinstance(job, Job)
    noted = {"precision", "sp", "zero", "recompute"}
    assert name not in noted or [note for note in job.notes if note.startswith(f"{name} ") and "taken as" in note]
