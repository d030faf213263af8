"""Says a published run in the words of the cost model, or says which part of it has no word."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.spec import ClusterSpec, ModelSpec, Plan, Precision, SoftwareStack, Workload
from planner.validation.configuration import Configuration
from planner.validation.frameworks import framework_of
from planner.validation.gaps import first_gap
from planner.validation.layouts import plan_of
from planner.validation.machines import cluster_of
from planner.validation.models import model_of
from planner.validation.precisions import DEFAULT, precision_named
from planner.validation.unsaid import Unsaid


@dataclass(frozen=True)
class Job:
    """The inputs of `predict` for one run."""

    model: ModelSpec
    workload: Workload
    cluster: ClusterSpec
    stack: SoftwareStack
    plan: Plan
    notes: tuple[str, ...]
    """What the source left open and was assumed."""


def express(run: Configuration) -> Job | Unsaid:
    """The run as inputs of `predict`, or the first thing about it that they cannot say."""
    framework = framework_of(run)
    gap = first_gap(run, framework.stack)
    if gap is not None:
        return gap
    cluster = cluster_of(run)
    if isinstance(cluster, Unsaid):
        return cluster
    model, model_notes = model_of(run)
    plan = plan_of(run, model, framework)
    if isinstance(plan, Unsaid):
        return plan
    precision = precision_named(run.precision)
    assert isinstance(precision, Precision)  # others are a gap
    workload = Workload(global_batch=run.global_batch, seq_len=run.seq_len, precision=precision)
    notes = [f"priced as {framework.stack.name}, the nearest stack"] if framework.is_nearest else []
    if run.precision is None:
        notes.append(f"precision not stated, taken as {DEFAULT}")
    return Job(model, workload, cluster[0], framework.stack, plan[0], (*notes, *cluster[1], *model_notes, *plan[1]))
