"""What must hold of each input: one clear error, or a model that is counted right and can be used."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from rich.console import Console

from costmodel import stacks
from costmodel.errors import BadInputError
from costmodel.spec import ModelSpec
from costmodel.spec.shards import WHOLE
from planner.cli.model_summary import model_object, print_model
from planner.models.errors import UnknownArchitectureError
from planner.models.read import LoadedModel, load_model
from tests.fuzz.agreement import disagreements
from tests.fuzz.formulas import FORMULAS
from tests.fuzz.inputs import Mutant
from tests.fuzz.reference import NotCountedError, counted_by_class, counted_by_formula

MAX_MESSAGE = 500
"""Characters of a message without the name of the file."""
NOT_OF_THE_KEY = re.compile("^not valid JSON at line|^key .* is missing")
"""Refusals of the text itself, before there are keys, and of a key that another one makes necessary."""
STACK = stacks.get("native-cuda")


class Finding(AssertionError):  # noqa: N818  a finding is what fuzzing looks for
    """The reader did what it must not do."""


@dataclass(frozen=True)
class Outcome:
    """What became of an input."""

    kind: str
    """`accepted` or `refused`."""
    subject: str
    """The class of what was accepted; the message of what was refused, without its figures."""
    counted: str = ""
    """`formula`, `transformers`, both, or why nobody counts it."""


class Built(Enum):
    """Which classes are built by transformers to be counted; that takes up to a second each."""

    NONE = "none"
    WITHOUT_FORMULA = "without formula"
    ALL = "all"


def check(mutant: Mutant, path: Path, built: Built) -> Outcome:
    """Read `mutant` from the file `path`, use what was read, and count it.

    Raises Finding; any other exception is a finding too.
    """
    read = check_reading(mutant, path)
    return read if isinstance(read, Outcome) else accepted(read, built)


def accepted(model: LoadedModel, built: Built) -> Outcome:
    """What became of an input that is `model`, when it is counted."""
    return Outcome("accepted", model.spec.architecture, check_count(model, built))


def check_reading(mutant: Mutant, path: Path) -> LoadedModel | Outcome:
    """Read `mutant` from the file `path`: the model, which can be used, or the refusal, which is clear."""
    path.write_bytes(mutant.content)
    try:
        model = load_model(str(path))
    except BadInputError as error:
        return _refused(str(error), error, mutant, path)
    for wrong in disagreements(model.hf_config, model.spec):
        raise Finding(f"{model.spec.architecture} was accepted, although {wrong}")
    check_usable(model.spec)
    return model


def _refused(message: str, error: BadInputError, mutant: Mutant, path: Path) -> Outcome:
    if "\n" in message or not message.isprintable():
        raise Finding(f"the message is not one line of printable text: {message!r}")
    opening = f"model config {path}: "
    if not message.startswith(opening):
        raise Finding(f"the message does not begin with the file: {message!r}")
    said = message.removeprefix(opening)
    if len(said) > MAX_MESSAGE:
        raise Finding(f"the message has {len(said)} characters: {said[:200]}...")
    if (
        mutant.key_at_fault not in said
        and not NOT_OF_THE_KEY.search(said)
        and not isinstance(error, UnknownArchitectureError)
    ):
        raise Finding(f"the message does not name the key at fault, {mutant.key_at_fault!r}: {said}")
    pattern = re.sub(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\[.*\]|\{.*\}|-?\d[\d.e+]*", "…", said)
    return Outcome("refused", pattern)


def check_usable(spec: ModelSpec) -> None:
    """A model can be stored, shown and priced."""
    if ModelSpec.from_json(spec.to_json(), "stored") != spec:
        raise Finding("the model does not survive being stored")
    if not 0 < spec.params_active <= spec.params_total:
        raise Finding(f"{spec.params_active} of {spec.params_total} parameters are active")
    if sum(run.count * run.layer.num_params() for run in spec.runs) != spec.params_total:
        raise Finding("the parts do not make the total")
    json.dumps(model_object(spec), allow_nan=False)
    for width in (80, 20):
        console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
        print_model(console, spec)
    for layer in dict.fromkeys(run.layer for run in (*spec.runs, *spec.mtp_runs)):
        amounts = [value for each in layer.operations(1, 128) for value in _numbers(asdict(each))]
        amounts += _numbers(asdict(layer.saved(1, 128, WHOLE, STACK)))
        amounts += [split.size for split in layer.splits()]
        amounts.append(layer.num_params())
        if not all(math.isfinite(amount) and amount >= 0 for amount in amounts):
            raise Finding(f"a layer costs less than nothing, or no number: {layer}")


def _numbers(values: dict[str, Any]) -> list[float]:
    return [value for value in values.values() if isinstance(value, int | float)]


def check_count(model: LoadedModel, built: Built) -> str:
    """The count is that of the references; returns by whom it was counted, or why by nobody."""
    architecture, found = model.spec.architecture, model.spec.params_total
    by = ""
    if architecture in FORMULAS:
        by = "formula"
        _compare(architecture, found, counted_by_formula(model.hf_config, architecture), by)
    if built is Built.ALL or (built is Built.WITHOUT_FORMULA and not by):
        try:
            expected = counted_by_class(model.hf_config, architecture)
        except NotCountedError as error:
            return by or f"nobody: {error}"
        _compare(architecture, found, expected, "transformers")
        by = f"{by} and transformers" if by else "transformers"
    return by or "nobody: not asked"


def _compare(architecture: str, found: int, expected: int, by: str) -> None:
    if found != expected:
        raise Finding(f"{architecture} has {found:,} parameters, but {expected:,} by {by}")
