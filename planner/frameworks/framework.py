"""What the planner knows about a training framework: the plans it can express, its defaults, how to hand a plan on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import DeviceKind, Infeasible, ModelSpec, Plan, PlanFile, Precision, Recompute, Schedule, Workload

Check = Callable[[ModelSpec, Workload, Plan], Infeasible | None]
"""Says whether a plan obeys a rule; a broken rule is a value, not an exception."""

ARCHITECTURE_EXPRESSIBLE = "architecture_expressible"
"""Name of the rule on classes, where a framework has it."""

CheckConfig = Callable[[Mapping[str, Any], ModelSpec, Workload], object]
"""Raises BadInputError where the files cannot say a detail of the raw config, which costs nothing and has no rule."""

Write = Callable[[PlanFile, str], dict[str, str]]
"""Turns a plan and a launcher name into file texts by relative path."""


@dataclass(frozen=True)
class Rule:
    """One limit on the plans of a framework.

    `check` reads only degrees, batch split and schedule of a plan, and its stage cut and recompute where `needs_cut`.
    """

    name: str
    """Short name, the `rule` of the Infeasible it returns, e.g. `heads_divide`."""
    sentence: str
    """The rule itself, in one sentence."""
    check: Check
    needs_cut: bool = False


class RecomputeFreedom(StrEnum):
    """What a framework lets a plan recompute; the search offers nothing else."""

    EACH_LAYER = "each layer"
    """Any set of blocks."""
    SAME_COUNT_PER_STAGE = "same count per stage"
    """The first n blocks of every stage, with one n for all stages (a stage with fewer recomputes all)."""
    ALL_OR_NONE = "all or none"
    """Every block of the model, or none."""


@dataclass(frozen=True)
class Defaults:
    """The framework's own choice where the user left a layout choice open."""

    zero: int
    zero_with_pipeline: int
    """Where there is more than one stage."""
    schedule: Schedule
    recompute: Recompute
    micro_batch: int = 1
    """Sequences. No framework has a default that every batch allows, so it is 1."""

    def zero_for(self, pp: int) -> int:
        """The default ZeRO stage with `pp` stages."""
        return self.zero if pp == 1 else self.zero_with_pipeline


@dataclass(frozen=True)
class Framework:
    """A training framework at one pinned version."""

    name: str
    title: str
    """Its own name, for sentences."""
    version: str
    """The version whose options are written; others are not promised."""
    stacks: Mapping[DeviceKind, str]
    """The software stack of the cost model that prices it, by device kind; a kind it cannot run on is absent."""
    rules: tuple[Rule, ...]
    zero_stages: tuple[int, ...]
    schedules: tuple[Schedule, ...]
    recompute_freedom: RecomputeFreedom
    defaults: Defaults
    precisions: tuple[Precision, ...]
    trains: tuple[str, ...]
    """Classes of models that it trains by the files that are written; others are priced at most."""
    check_config: CheckConfig
    write: Write

    def stack_name(self, device_kind: DeviceKind) -> str:
        """The stack that prices this framework on such devices; raises BadInputError where it cannot run on them."""
        if device_kind not in self.stacks:
            kinds = ", ".join(self.stacks)
            raise BadInputError(
                f"framework {self.name} runs on {kinds} devices, not on {device_kind}; use framework native"
            )
        return self.stacks[device_kind]

    @property
    def refuses_other_classes(self) -> bool:
        """Whether a plan for a class that it does not train is refused by a rule, rather than priced."""
        return any(rule.name == ARCHITECTURE_EXPRESSIBLE for rule in self.rules)

    @property
    def mesh_rules(self) -> tuple[Rule, ...]:
        """Rules that need no stage cut and no recompute choice."""
        return tuple(rule for rule in self.rules if not rule.needs_cut)

    @property
    def cut_rules(self) -> tuple[Rule, ...]:
        """Rules on the stage cut and on recompute."""
        return tuple(rule for rule in self.rules if rule.needs_cut)

    def refusal(self, model: ModelSpec, workload: Workload, plan: Plan) -> Infeasible | None:
        """The first rule that `plan` breaks, or None where the framework can express it."""
        for rule in self.rules:
            infeasible = rule.check(model, workload, plan)
            if infeasible is not None:
                return infeasible
        return None
