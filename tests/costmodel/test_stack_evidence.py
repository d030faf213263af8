"""Every constant of a stack says what it rests on, and one stack alone is of a single source's framework."""

from __future__ import annotations

import ast
import inspect
import itertools

import pytest

from costmodel.spec import SoftwareStack
from costmodel.stacks import GENERIC, KNOWN_STACKS, KnownStack
from costmodel.stacks.evidence import CODE, runs
from planner.validation.configuration import Configuration
from planner.validation.frameworks import framework_of
from planner.validation.scores.sources import source_of
from tests.validation.sample_runs import carried

FIELDS = set(SoftwareStack.model_fields) - {"name"}
SOURCES = {source_of(row["id"]) for row in carried()}


def test_every_constant_says_what_it_means() -> None:
    """A sentence stands below its field."""
    (body,) = [node.body for node in ast.parse(inspect.getsource(SoftwareStack)).body if isinstance(node, ast.ClassDef)]
    told = {
        field.target.id
        for field, below in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
    }
    assert told >= FIELDS


@pytest.mark.parametrize("known", KNOWN_STACKS, ids=lambda known: known.stack.name)
def test_every_constant_says_what_it_rests_on(known: KnownStack) -> None:
    assert set(known.supported_by) == FIELDS
    named = {source for basis in known.supported_by.values() for source in basis.runs}
    assert named <= SOURCES


def test_no_stack_and_no_field_belongs_to_a_source() -> None:
    names = {known.stack.name for known in KNOWN_STACKS} | FIELDS
    assert not {name for name in names if name.replace("_", "-") in SOURCES}


def test_one_stack_alone_stands_for_a_single_source() -> None:
    """llm-foundry, of which nobody else publishes runs; its evidence says so."""
    sources: dict[str, set[str]] = {}
    for row in carried():
        run = Configuration.from_cells(row)
        if isinstance(run, Configuration):
            sources.setdefault(framework_of(run).stack.name, set()).add(source_of(row["id"]))
    assert {stack for stack, found in sources.items() if len(found) == 1} == {"llm-foundry"}


def test_without_a_source_what_it_alone_set_is_generic() -> None:
    basis = dict.fromkeys(FIELDS, CODE) | {
        "launch_s_per_layer": runs("one"),
        "elementwise_traffic_factor": runs("one", "other"),
    }
    stack = GENERIC.model_copy(update={"name": "s", "launch_s_per_layer": 7.0, "elementwise_traffic_factor": 9.0})
    left = KnownStack(stack, basis).without("one", GENERIC)
    assert left.launch_s_per_layer == GENERIC.launch_s_per_layer
    assert left.elementwise_traffic_factor == 9.0
    assert KnownStack(stack, basis).without("other", GENERIC) == stack
