"""Candidates: every mesh of the space that the framework can express, priced and bounded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from costmodel.feasibility import contradiction
from costmodel.layer_price import price_layers
from costmodel.price import LayerPrice
from costmodel.setting import Mesh, Setting
from costmodel.spec import Infeasible, Plan, Recompute, RefusedPlan
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
    examples: tuple[RefusedPlan, ...]
    """The first plan that each rule refused."""


def find_candidates(job: Job, setting: Setting, framework: Framework, fixed: Layout) -> Candidates:
    """Go through the space once."""
    expressible: list[Candidate] = []
    refused: Counter[str] = Counter()
    examples: dict[str, RefusedPlan] = {}
    considered = 0
    for mesh in meshes(job, framework, fixed):
        considered += 1
        plan = even_plan(setting.model, framework.name, mesh, Recompute.NONE)
        refusal = _refusal(setting, framework, plan)
        if refusal is not None:
            refused[refusal.rule] += 1
            examples.setdefault(refusal.rule, RefusedPlan(plan=plan, infeasible=refusal))
            continue
        prices = price_layers(setting, mesh)
        expressible.append(Candidate(mesh_lower_bound_s(setting, mesh, prices), considered, mesh, prices))
    return Candidates(tuple(expressible), considered, refused, tuple(examples.values()))


def _refusal(setting: Setting, framework: Framework, plan: Plan) -> Infeasible | None:
    """The first rule on degrees, batch split and schedule that the plan breaks, or what contradicts its setting."""
    refusals = (rule.check(setting.model, setting.workload, plan) for rule in framework.mesh_rules)
    return next((refusal for refusal in refusals if refusal is not None), None) or contradiction(setting, plan)
