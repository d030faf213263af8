"""The stage cut as a CP-SAT model: minimise the schedule's lower bound over all cuts that fit into memory.

The rows of the bound are those of `costmodel.schedules`; times enter as integers, rounded down, so the optimum is a
valid bound on the simulated step time. Recompute is folded into the table: each option of a stage already
recomputes as little as fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ortools.sat.python import cp_model

from costmodel.schedules import SCHEDULES
from planner.search.stage_table import StageOption, StageTable

TICKS = 2**30
"""Integer units in the time limit: rounding costs less than a part in 10^6 for a million passes."""


@dataclass(frozen=True)
class Cut:
    """Layers per stage, and the least step time that any cut not excluded can have."""

    num_layers: tuple[int, ...]
    lower_bound_s: float


@dataclass(frozen=True)
class Exhausted:
    """No further cut is below the time limit; `proven` unless the solver gave up."""

    proven: bool


def best_cut(
    table: StageTable,
    transfer_s: float,
    below_s: float,
    excluded: list[tuple[int, ...]],
    deterministic_limit: float,
) -> Cut | Exhausted:
    """The cut with the least bound strictly below `below_s`, apart from `excluded`."""
    mesh, total = table.mesh, len(table.setting.model.layers)
    model = cp_model.CpModel()
    tick_s = below_s / TICKS

    def ticks(time_s: float) -> int:
        return min(int(time_s / tick_s), 2 * TICKS)

    starts = [model.new_int_var(0, total - 1, f"start{s}") for s in range(mesh.pp)]
    sizes = [model.new_int_var(1, total, f"size{s}") for s in range(mesh.pp)]
    forward = [model.new_int_var(0, TICKS, f"forward{s}") for s in range(mesh.pp)]
    backward = [model.new_int_var(0, TICKS, f"backward{s}") for s in range(mesh.pp)]
    first_stage = [model.new_int_var(0, TICKS, name) for name in ("before", "after")]
    for stage in range(mesh.pp):
        # Stage times, and with them recompute, follow from where the stage starts and how many layers it holds;
        # where all blocks are equal, from the number alone.
        columns = [sizes[stage], forward[stage], backward[stage]]
        columns += [] if table.uniform else [starts[stage]]
        columns += first_stage if stage == 0 else []
        rows = []
        for start, option in _places(table, stage, total, below_s):
            price = option.price
            row = [option.num_layers, ticks(price.forward_s), ticks(price.backward_s)]
            row += [] if table.uniform else [start]
            row += [ticks(price.before_s), ticks(price.after_s)] if stage == 0 else []
            rows.append(row)
        if not rows:
            return Exhausted(proven=True)
        model.add_allowed_assignments(columns, rows)

    # Stages follow each other and hold every layer once.
    model.add(starts[0] == 0)
    for stage in range(mesh.pp - 1):
        model.add(starts[stage + 1] == starts[stage] + sizes[stage])
    model.add(starts[-1] + sizes[-1] == total)
    if excluded:
        model.add_forbidden_assignments(sizes, excluded)

    # The pipeline is bounded by every row; the first stage ends last, then reduces gradients and steps.
    pipeline = model.new_int_var(0, TICKS, "pipeline")
    hop = ticks(transfer_s)
    for bound in SCHEDULES[mesh.schedule].bound_rows(mesh.pp, mesh.num_microbatches):
        forward_ticks = cp_model.LinearExpr.weighted_sum(forward, bound.forward)
        backward_ticks = cp_model.LinearExpr.weighted_sum(backward, bound.backward)
        model.add(pipeline >= forward_ticks + backward_ticks + bound.hops * hop)
    objective = pipeline + sum(first_stage)
    model.add(objective < TICKS)
    model.minimize(objective)

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = deterministic_limit
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Exhausted(proven=True)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Exhausted(proven=False)
    return Cut(tuple(solver.value(size) for size in sizes), solver.best_objective_bound * tick_s)


def _places(table: StageTable, stage: int, total: int, below_s: float) -> Iterator[tuple[int, StageOption]]:
    """Start and option of every place the stage can have and still be within memory and time."""
    last = table.mesh.pp - 1
    latest = total - 1 - (last - stage)
    starts = range(stage, latest + 1) if stage > 0 and not table.uniform else [stage]
    for start in starts:
        longest = latest + 1 - start
        sizes = [longest] if stage == last and not table.uniform else range(1, longest + 1)
        for size in sizes:
            # A last stage holds the head, wherever it starts.
            option = table.option(stage, total - size if stage == last else start, size)
            if option is None:
                continue
            if table.mesh.num_microbatches * (option.price.forward_s + option.price.backward_s) >= below_s:
                break
            yield start, option
