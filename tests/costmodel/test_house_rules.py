"""Rules of the ground floor: no heavy import, and no term, memory kind or schedule without a test that names it."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import costmodel
from costmodel import spec
from costmodel.schedules import SCHEDULES
from costmodel.spec import Schedule

HEAVY = ("torch", "transformers", "ortools", "pandas", "matplotlib", "click", "rich")
PACKAGE = Path(costmodel.__file__).parent
SHARED = {"__init__", "view", "moments"}
"""Files that hold what the kinds share; they have no numbers of their own."""


def test_predict_loads_no_heavy_package() -> None:
    code = f"import sys, costmodel.predict; print([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


KINDS = [
    path.stem
    for folder in ("terms", "memory", "collectives")
    for path in sorted((PACKAGE / folder).glob("*.py"))
    if path.stem not in SHARED
]


def imported_by_tests() -> set[str]:
    """Modules of the cost model that its tests name in an import: terms, memory kinds, collectives."""
    names: set[str] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("costmodel."):
                names |= {str(node.module).rpartition(".")[2], *(alias.name for alias in node.names)}
    return names


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_test_that_imports_it(kind: str) -> None:
    assert kind in imported_by_tests()


def test_every_schedule_is_registered_so_that_the_laws_of_schedules_hold_for_it() -> None:
    registered = {kind.order.__module__.rpartition(".")[2] for kind in SCHEDULES.values()}
    written = {
        path.stem
        for path in (PACKAGE / "schedules").glob("*.py")
        if "def bound_rows" in path.read_text(encoding="utf-8")
    }
    assert registered == written
    assert set(SCHEDULES) == set(Schedule)


def test_every_noun_is_loaded_from_the_module_that_type_checkers_see() -> None:
    tree = ast.parse((PACKAGE / "spec" / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(spec.__all__) == set(seen)
    for name, module in seen.items():
        assert getattr(spec, name) is getattr(importlib.import_module(module), name)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = spec.Nothing
