"""The stage cut as a CP-SAT model: minimise the schedule's lower bound over all cuts that fit into memory.

The rows of the bound are those of `costmodel.schedules`; times enter as integers, rounded down, so the optimum is a
valid bound on the simulated step time. Recompute is folded into the table: each option of a stage already
recomputes as little as fits.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from costmodel.schedules import SCHEDULES, BoundRow
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
    """The cut with the least bound strictly below `below_s`, apart from `excluded`.

    `deterministic_limit` is in CP-SAT's own unit of work, so that the same input stops at the same place; the
    deadline of the table comes on top. Raises OutOfTime where that passes while the table is filled.
    """
    mesh, total = table.mesh, len(table.setting.model.layers)
    model = cp_model.CpModel()
    tick_s = below_s / TICKS

    def ticks(time_s: float) -> int:
        return min(int(time_s / tick_s), 4 * TICKS)

    bounds = SCHEDULES[mesh.schedule].bound_rows(mesh.pp, mesh.num_microbatches)
    windows = _windows(table, bounds, below_s)
    if windows is None:
        return Exhausted(proven=True)
    starts = [model.new_int_var(0, total - 1, f"start{s}") for s in range(mesh.pp)]
    sizes = [model.new_int_var(window.start, window.stop - 1, f"size{s}") for s, window in enumerate(windows)]
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
        for start, option in _places(table, stage, windows[stage]):
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

    # Whatever the cut, the stages together do all the work: without this the relaxation knows no bubble.
    least_forward_s, least_backward_s = table.least_s(0, total)
    model.add(sum(forward) >= ticks(least_forward_s) - mesh.pp)
    model.add(sum(backward) >= ticks(least_backward_s) - mesh.pp)

    # The pipeline is bounded by every row; the first stage ends last, then reduces gradients and steps.
    pipeline = model.new_int_var(0, TICKS, "pipeline")
    hop = ticks(transfer_s)
    for bound in bounds:
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
    if table.deadline.limited:
        solver.parameters.max_time_in_seconds = table.deadline.left_s
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Exhausted(proven=True)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Exhausted(proven=False)
    return Cut(tuple(solver.value(size) for size in sizes), solver.best_objective_bound * tick_s)


def _windows(table: StageTable, bounds: Sequence[BoundRow], below_s: float) -> list[range] | None:
    """How many layers each stage can hold in a cut below `below_s`; None where no cut can be below.

    At most as many as keep the rows of the stage below the limit when the other stages share the rest without
    recomputation, and at least what the others cannot hold.
    """
    total, num_stages = len(table.setting.model.layers), table.mesh.pp
    most = [
        _most_layers(table, stage, [row for row in bounds if row.stage == stage], below_s)
        for stage in range(num_stages)
    ]
    spare = sum(most) - total
    windows = [range(max(1, size - spare), size + 1) for size in most]
    return windows if spare >= 0 and all(windows) else None


def _most_layers(table: StageTable, stage: int, rows: Sequence[BoundRow], below_s: float) -> int:
    """The most layers with which `stage` keeps its rows below the limit, wherever it starts."""
    total, num_stages = len(table.setting.model.layers), table.mesh.pp
    work_s = sum(table.least_s(0, total))
    others = [other for other in range(num_stages) if other != stage]
    least = [min(min(row.forward[other], row.backward[other]) for other in others) for row in rows]

    def too_slow(start: int, size: int) -> bool:
        forward_s, backward_s = table.least_s(start, size)
        rest_s = work_s - forward_s - backward_s
        return any(
            row.forward[stage] * forward_s + row.backward[stage] * backward_s + coefficient * rest_s >= below_s
            for row, coefficient in zip(rows, least, strict=True)
        )

    def most_from(start: int, longest: int) -> int:
        return bisect.bisect_left(range(1, longest + 1), True, key=lambda size: too_slow(start, size))

    longest = total - num_stages + 1
    if stage == num_stages - 1:
        # It holds the head, so where it starts follows from its size.
        return bisect.bisect_left(range(1, longest + 1), True, key=lambda size: too_slow(total - size, size))
    return max(most_from(start, min(longest, total - start)) for start in _starts(table, stage, longest))


def _starts(table: StageTable, stage: int, longest: int) -> range:
    """Where a stage before the last can start; with equal blocks, one place stands for all."""
    if table.uniform:
        return range(stage, stage + 1)
    return range(stage, stage + longest) if stage > 0 else range(1)


def _places(table: StageTable, stage: int, sizes: range) -> Iterator[tuple[int, StageOption]]:
    """Start and option of every place within the window that fits into memory."""
    total, last = len(table.setting.model.layers), table.mesh.pp - 1
    if stage == last:
        places = [(total - size, size) for size in sizes]
    else:
        latest = total - (last - stage)
        starts = _starts(table, stage, total - last)
        places = [(start, size) for start in starts for size in sizes if start + size <= latest]
    for start, size in places:
        option = table.option(stage, start, size)
        if option is not None:
            yield start, option
