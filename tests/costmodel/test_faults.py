"""A faulty document is told in the words of its file: the path to the key, its value, and what would do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from document_samples import PLAN_FILE

from costmodel.errors import BadInputError
from costmodel.spec import PlanFile

PYDANTIC = frozenset({"Input", "should", "tuple", "Tuple", "dictionary", "Dictionary", "instance", "discriminator"})
PYTHON = frozenset({"None", "True", "False"})
"""Words that no file holds."""


def refusal(data: Any) -> str:
    with pytest.raises(BadInputError) as caught:
        PlanFile.from_data(data, "here")
    return str(caught.value)


def edited(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """The sample plan file with another value at `path`."""
    data: dict[str, Any] = json.loads(PLAN_FILE.to_json())
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return data


def paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path to every value, of a list to its first entry only."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*path, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*path, 0))


LAYER = ("model", "runs", 0, "layer")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("plan", "tp"), 1.5, "plan.tp is 1.5, but must be a whole number"),
        (("plan", "tp"), None, "plan.tp is null, but must be a whole number"),
        (("plan", "tp"), 0, "plan.tp is 0, but must be at least 1"),
        (("plan",), [True], "plan is [true], but must be an object with framework, "),
        (("model", "runs"), [], "model.runs is [], but must be of 1 or more entries"),
        (("model", "runs"), None, "model.runs is null, but must be a list"),
        (("model", "name"), "", "model.name is '', but must be a text of 1 or more characters"),
        ((*LAYER, "vocab"), "many", "model.runs[0].layer.vocab is 'many', but must be a whole number"),
        ((*LAYER, "colour"), 1, "unknown key 'model.runs[0].layer.colour'; known are "),
        ((*LAYER, "vocabs"), 1, "unknown key 'model.runs[0].layer.vocabs'; did you mean 'vocab'"),
        (
            ("cluster", "nodes", 0, "node", "nics"),
            8,
            "cluster.nodes[0].node.nics is 8, but must be an object with count, ",
        ),
        (
            ("cluster", "nodes", 0, "node", "storage"),
            [],
            "cluster.nodes[0].node.storage is [], but must be an object with any of write_bytes_per_s, ",
        ),
        (
            ("cluster", "nodes", 0, "node", "device", "colour"),
            1,
            "unknown key 'cluster.nodes[0].node.device.colour'; known are attention_efficiency_frac, ",
        ),
        ((*LAYER, "kind"), None, "model.runs[0].layer.kind is null, but must be one of 'embedding', 'stem', 'block'"),
        (LAYER, {}, "model.runs[0].layer is {}, but must be an object with the key 'kind'"),
        (LAYER, {"kind": "head"}, "key 'model.runs[0].layer.vocab' is missing"),
        ((*LAYER, "tied"), 2, "model.runs[0].layer.tied is 2, but must be true or false"),
        (("workload", "optimizer"), "sgd", "workload.optimizer is 'sgd', but must be 'adamw'"),
        (
            ("cluster", "nodes", 0, "node", "device", "peak_flop_per_s"),
            [],
            "cluster.nodes[0].node.device.peak_flop_per_s is [], but must be an object",
        ),
    ],
)
def test_what_would_do_is_said(path: tuple[str | int, ...], value: object, said: str) -> None:
    assert refusal(edited(path, value)).startswith(f"here: {said}")


@pytest.mark.parametrize("value", [None, True, -1, 1.5, "", "x", [], ["x"], {}, {"kind": "x"}], ids=repr)
def test_no_word_of_the_library_gets_out(value: object) -> None:
    for path in paths(json.loads(PLAN_FILE.to_json())):
        said = ""
        try:
            PlanFile.from_data(edited(path, value), "here")
        except BadInputError as error:
            said = str(error)
        assert not (PYDANTIC | PYTHON) & set(re.findall(r"\w+", said)), said
