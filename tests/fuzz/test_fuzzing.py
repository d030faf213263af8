"""The reader takes any file: it makes a model that is counted right, or says in one sentence why not.

`make fuzz` runs many more inputs than these.
"""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.campaign import Tally, run
from tests.fuzz.check import Built, Finding, Outcome, check, check_count
from tests.fuzz.every_key import findings
from tests.fuzz.formulas import FORMULAS
from tests.fuzz.inputs import KEY_AT_FAULT, Mutant, mutant
from tests.fuzz.samples import by_class, samples
from tests.fuzz.tree_mutator import mutate_tree, write

SEED = 20
REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.json"))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
SIZES = st.integers(min_value=1, max_value=2**13) | st.integers()
COUNTED_BY_FORMULA = sorted(name for name, data in samples().items() if data["architectures"][0] in FORMULAS)


def small_campaign(path: Path, inputs: int) -> Tally:
    """Counts by formula only: what is built takes a second each."""
    tally = Tally()
    for index in range(inputs):
        made = mutant(SEED, index)
        tally.add(made.kind, check(made, path, Built.NONE))
    return tally


def test_a_few_hundred_inputs(tmp_path: Path) -> None:
    tally = small_campaign(tmp_path / "config.json", 400)
    assert tally.accepted_frac("tree") >= 0.25
    assert tally.by_outcome["bytes", "refused"] > 50


@pytest.mark.slow
def test_a_hang_is_a_finding() -> None:
    # No input is done in a millisecond: the watchdog ends the worker at the first one.
    tally = run(SEED, 3, 1, Built.NONE, deadline_s=0.001)
    assert tally.failure is not None
    assert tally.failure.index == 0
    assert "a hang, or a crash" in tally.failure.what


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_what_was_found_once_does_not_come_back(path: Path, tmp_path: Path) -> None:
    """The name of a file may end in the key that a refusal must name."""
    key = path.stem.partition(KEY_AT_FAULT)[2]
    check(Mutant("tree", path.name, path.read_bytes(), key), tmp_path / "config.json", Built.WITHOUT_FORMULA)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_under_any_key(data: st.DataObject, tmp_path: Path) -> None:
    name = data.draw(st.sampled_from(COUNTED_BY_FORMULA))
    config = copy.deepcopy(samples()[name])
    for key in data.draw(st.lists(st.sampled_from(sorted(config)), min_size=1, max_size=3, unique=True)):
        config[key] = data.draw(SIZES if type(config[key]) is int else JSON_VALUES)
    content = json.dumps(config, ensure_ascii=False).encode("utf-8", errors="surrogatepass")
    if config.get("architectures") == samples()[name]["architectures"]:
        check(Mutant("tree", name, content), tmp_path / "config.json", Built.NONE)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_file(content: bytes, tmp_path: Path) -> None:
    check(Mutant("bytes", "", content), tmp_path / "config.json", Built.NONE)


def test_the_same_seed_makes_the_same_inputs() -> None:
    assert [mutant(1, index) for index in range(20)] == [mutant(1, index) for index in range(20)]
    assert mutant(1, 0) != mutant(2, 0)


def test_mutants_leave_their_sample_as_it_is() -> None:
    name = by_class()["LlamaForCausalLM"][0]
    before = copy.deepcopy(samples()[name])
    for index in range(100):
        write(mutate_tree(random.Random(index), samples()[name]))
    assert samples()[name] == before


def llama(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(samples()[by_class()["LlamaForCausalLM"][0]]), **changes}


class Loaded:
    """A model as the reader gives it, with another config beside it."""

    def __init__(self, spec: Any, hf_config: dict[str, Any]) -> None:
        self.spec = spec
        self.hf_config = hf_config


def test_the_check_sees_a_wrong_count(tmp_path: Path) -> None:
    from planner.models.read import read_model

    right = llama()
    wrong = llama(intermediate_size=right["intermediate_size"] + 1)
    with pytest.raises(Finding, match="by formula"):
        check_count(Loaded(read_model(right, "here", "small"), wrong), Built.NONE)  # type: ignore[arg-type]


def test_the_check_sees_a_message_without_the_key(tmp_path: Path) -> None:
    content = json.dumps(llama(hidden_size=-1)).encode()
    path = tmp_path / "config.json"
    assert check(Mutant("tree", "", content, "hidden_size"), path, Built.NONE) == Outcome(
        "refused", "hidden_size is …, but must be a whole number from … to …"
    )
    with pytest.raises(Finding, match="does not name the key at fault"):
        check(Mutant("tree", "", content, "vocab_size"), path, Built.NONE)


def test_every_key_of_a_sample_takes_any_value_or_says_what_would_do() -> None:
    # The small one in which every key is of the text: each key with 33 values, and whole numbers with six more.
    count, found = findings(["llama3.1_8b.json"])
    assert count > 500
    assert found == []
