"""Candidates: every mesh of the space that the framework can express, with bounds; priced when its turn comes."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from costmodel.feasibility import contradiction
from costmodel.layer_price import price_layers
from costmodel.price import LayerPrice
from costmodel.setting import Mesh, Setting
from costmodel.spec import Infeasible, Plan, Recompute, RefusedPlan
from planner.frameworks.framework import Framework
from planner.job import Job, Layout
from planner.search.bounds import TimeFloor, memory_floor_bytes, mesh_lower_bound_s
from planner.search.deadline import Deadline
from planner.search.space import even_plan, meshes


@dataclass(frozen=True)
class Candidate:
    """A mesh, its number in the order of enumeration, and a cheap bound on its step time."""

    setting: Setting
    mesh: Mesh
    number: int
    floor_s: float

    @cached_property
    def prices(self) -> tuple[LayerPrice, ...]:
        """Of every layer of the model."""
        return price_layers(self.setting, self.mesh)

    @cached_property
    def lower_bound_s(self) -> float:
        """A tighter bound on the step time, from the prices."""
        return max(self.floor_s, mesh_lower_bound_s(self.setting, self.mesh, self.prices))

    @cached_property
    def memory_floor_bytes(self) -> int:
        """A bound on the peak of the fullest stage."""
        return memory_floor_bytes(self.setting, self.mesh, self.prices)


@dataclass(frozen=True)
class Candidates:
    """The candidates of a space, and what was refused on the way."""

    expressible: tuple[Candidate, ...]
    considered: int
    refused: Counter[str]
    """Meshes by the name of the rule they break."""
    examples: tuple[RefusedPlan, ...]
    """The first plan that each rule refused."""


class Queue:
    """Candidates in the order of their bounds; each is priced only when its floor comes first."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._heap = [(candidate.floor_s, candidate.number, candidate) for candidate in candidates]
        heapq.heapify(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def least_s(self) -> float:
        """What none of the candidates left undercuts; there must be one."""
        return self._heap[0][0]

    @property
    def bounds_s(self) -> list[float]:
        """Of all candidates left."""
        return [bound_s for bound_s, _, _ in self._heap]

    def pop(self) -> Candidate | None:
        """The candidate with the least bound, or None where the first one got a higher bound and went back."""
        bound_s, number, candidate = heapq.heappop(self._heap)
        if candidate.lower_bound_s > bound_s:
            heapq.heappush(self._heap, (candidate.lower_bound_s, number, candidate))
            return None
        return candidate

    def push(self, candidate: Candidate) -> None:
        """Take back a candidate that was left unsolved."""
        heapq.heappush(self._heap, (candidate.lower_bound_s, candidate.number, candidate))


def find_candidates(job: Job, setting: Setting, framework: Framework, fixed: Layout) -> Candidates:
    """Go through the space once."""
    expressible: list[Candidate] = []
    refused: Counter[str] = Counter()
    examples: dict[str, RefusedPlan] = {}
    floor = TimeFloor(setting)
    considered = 0
    for mesh in meshes(job, framework, fixed):
        considered += 1
        plan = even_plan(setting.model, framework.name, mesh, Recompute.NONE)
        refusal = _refusal(setting, framework, plan)
        if refusal is not None:
            refused[refusal.rule] += 1
            examples.setdefault(refusal.rule, RefusedPlan(plan=plan, infeasible=refusal))
            continue
        expressible.append(Candidate(setting, mesh, considered, floor.of(mesh)))
    return Candidates(tuple(expressible), considered, refused, tuple(examples.values()))


def least_bound_s(candidates: Sequence[Candidate], below_s: float, deadline: Deadline) -> float:
    """What no plan of `candidates` undercuts, or `below_s` if that is less."""
    queue = Queue(candidates)
    while len(queue) and queue.least_s < below_s:
        bound_s = queue.least_s
        if deadline.passed or queue.pop() is not None:
            return bound_s
    return below_s


def _refusal(setting: Setting, framework: Framework, plan: Plan) -> Infeasible | None:
    """The first rule on degrees, batch split and schedule that the plan breaks, or what contradicts its setting."""
    refusals = (rule.check(setting.model, setting.workload, plan) for rule in framework.mesh_rules)
    return next((refusal for refusal in refusals if refusal is not None), None) or contradiction(setting, plan)
