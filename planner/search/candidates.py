"""Candidates: every mesh of the space that the framework can express, priced and bounded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from costmodel.feasibility import contradiction
from costmodel.layer_price import price_layers
from costmodel.price import LayerPrice
from costmodel.setting import Mesh, Setting
from costmodel.spec import Infeasible, Recompute
from planner.frameworks.framework import Framework
from planner.job import Job, Layout
from planner.search.bounds import mesh_lower_bound_s
from planner.search.space import even_plan, meshes


@dataclass(frozen=True, order=True)
class Candidate:
    """A mesh with its bound; ordered by bound, then as enumerated."""

    lower_bound_s: float
    number: int
    mesh: Mesh = field(compare=False)
    prices: tuple[LayerPrice, ...] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Candidates:
    """The candidates of a space, and what was refused on the way."""

    expressible: tuple[Candidate, ...]
    considered: int
    refused: Counter[str]
    """Meshes by the name of the rule they break."""
    first_refusal: Infeasible | None


def find_candidates(job: Job, setting: Setting, framework: Framework, fixed: Layout) -> Candidates:
    """Go through the space once."""
    expressible: list[Candidate] = []
    refused: Counter[str] = Counter()
    first_refusal: Infeasible | None = None
    considered = 0
    for mesh in meshes(job, framework, fixed):
        considered += 1
        refusal = _refusal(setting, framework, mesh)
        if refusal is not None:
            refused[refusal.rule] += 1
            first_refusal = first_refusal or refusal
            continue
        prices = price_layers(setting, mesh)
        expressible.append(Candidate(mesh_lower_bound_s(setting, mesh, prices), considered, mesh, prices))
    return Candidates(tuple(expressible), considered, refused, first_refusal)


def _refusal(setting: Setting, framework: Framework, mesh: Mesh) -> Infeasible | None:
    """The first rule on degrees, batch split and schedule that the mesh breaks, or what contradicts its setting."""
    plan = even_plan(setting.model, framework.name, mesh, Recompute.NONE)
    refusals = (rule.check(setting.model, setting.workload, plan) for rule in framework.mesh_rules)
    return next((refusal for refusal in refusals if refusal is not None), None) or contradiction(setting, plan)
