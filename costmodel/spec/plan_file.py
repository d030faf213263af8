"""PlanFile: what `plan.json` holds, so that every later command needs nothing else; and Certificate, the proof."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import Field, NonNegativeInt, model_validator

from costmodel.spec.base import Document, Spec, fingerprint
from costmodel.spec.cluster import ClusterSpec
from costmodel.spec.model import ModelSpec
from costmodel.spec.plan import Plan
from costmodel.spec.prediction import Infeasible, Prediction
from costmodel.spec.profile import Profile
from costmodel.spec.stack import SoftwareStack
from costmodel.spec.workload import Workload


class Certificate(Document):
    """How good the plan is, proven against the cost model.

    No plan of the space named here has a step time below `lower_bound_s`.
    """

    SCHEMA: ClassVar[str] = "certificate/1"

    lower_bound_s: float = Field(gt=0)
    gap_frac: float = Field(ge=0)
    """(step time - lower bound) / step time over the full space."""
    gap_in_space_frac: float = Field(ge=0)
    """The same over the space left by `restrictions`."""
    space: str
    """What was searched, as a sentence."""
    restrictions: tuple[str, ...]
    """What the user or the framework fixed."""
    considered: int = Field(ge=0)
    pruned: int = Field(ge=0)
    """Layouts settled by lower bounds: no plan of theirs is faster than the best that is known."""
    solved: int = Field(ge=0)
    """Layouts whose stage cut and recompute were optimised."""
    refused: dict[str, NonNegativeInt]
    """Layouts refused, by rule."""
    wall_s: float = Field(ge=0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        settled = self.pruned + self.solved + sum(self.refused.values())
        if settled > self.considered:
            raise ValueError(
                f"pruned, solved and refused layouts are {settled} together, but considered is {self.considered}"
            )
        return self


class Alternative(Spec):
    """Another plan, and why it is not the answer."""

    plan: Plan
    prediction: Prediction
    why_not: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_pair(self.plan, self.prediction)
        return self


class Baseline(Spec):
    """What a rule of thumb would have given."""

    name: str
    rule: str
    """The rule as a sentence."""
    plan: Plan | None
    prediction: Prediction | None
    infeasible: Infeasible | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.prediction is not None:
            if self.plan is None:
                raise ValueError("there is a prediction, but no plan that it is of")
            _check_pair(self.plan, self.prediction)
        return self


class RefusedPlan(Spec):
    """A plan that a rule refused, kept as the example of that rule."""

    plan: Plan
    infeasible: Infeasible


class Sensitivity(Spec):
    """How the step time answers to one input that nobody measured."""

    input: str
    change: str
    step_time_s: float = Field(gt=0)


class PlanFile(Document):
    """The answer of `solve` or `check` with everything it rests on."""

    SCHEMA: ClassVar[str] = "plan_file/1"

    hf_config: dict[str, Any]
    model: ModelSpec
    workload: Workload
    cluster: ClusterSpec
    stack: SoftwareStack
    profile: Profile | None
    plan: Plan
    prediction: Prediction
    certificate: Certificate | None
    """Absent where a given layout was only judged."""
    alternatives: tuple[Alternative, ...] = ()
    baselines: tuple[Baseline, ...] = ()
    refused: tuple[RefusedPlan, ...] = ()
    sensitivities: tuple[Sensitivity, ...] = ()
    assumptions: tuple[str, ...] = ()
    input_hashes: dict[str, str]
    """SHA-256 of each input file, or of the preset, by role (model, cluster, profile)."""
    versions: dict[str, str]
    created: str
    """ISO 8601, UTC."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_pair(self.plan, self.prediction)
        return self

    @property
    def question_id(self) -> str:
        """Hash of all that a run puts to the test: model, workload, cluster, plan and prediction.

        A measurement belongs to every plan file with its `question_id`, whenever and from whatever files that was made.
        """
        parts = {"hf_config", "model", "workload", "cluster", "prediction"}
        return fingerprint({**self.model_dump(mode="json", include=parts), "plan": self.plan.identity})


def _check_pair(plan: Plan, prediction: Prediction) -> None:
    if prediction.plan_id != plan.plan_id:
        raise ValueError(
            f"the prediction belongs to plan {prediction.plan_id!r}, but the plan is {plan.plan_id!r}; "
            f"solve or check again instead of editing the plan"
        )
