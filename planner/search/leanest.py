"""The plan of a space that needs least memory: what an answer that nothing fits is measured by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from costmodel.spec import Plan, Recompute
from planner.frameworks.framework import Framework
from planner.search.candidates import Candidate
from planner.search.deadline import Deadline, OutOfTime
from planner.search.inner import recompute_rules
from planner.search.reach import furthest_cut
from planner.search.space import even_cut, plan_of
from planner.search.stage_table import StageTable, recomputable

Modes = tuple[Recompute, ...]


@dataclass
class LeanTable:
    """The least peak of every stage that a table describes, and the recompute modes that reach it."""

    table: StageTable
    deadline: Deadline
    _known: dict[tuple[int, int, int], tuple[int, Modes]] = field(default_factory=dict)

    def stage(self, stage: int, start: int, size: int) -> tuple[int, Modes]:
        """Bytes and modes of stage `stage` with `size` layers from `start` on; raises OutOfTime."""
        key = (stage, -1 if self.table.uniform else start, size)
        if key not in self._known:
            self.deadline.check()
            choices = self._choices(start, size)
            self._known[key] = min((self.table.peak_bytes(stage, start, modes), modes) for modes in choices)
        return self._known[key]

    def peak_bytes(self, cut: Sequence[int]) -> int:
        """Of the fullest stage of a cut."""
        return max(self.stage(stage, sum(cut[:stage]), size)[0] for stage, size in enumerate(cut))

    def modes(self, cut: Sequence[int]) -> Modes:
        """Of all layers, stage by stage."""
        return sum((self.stage(stage, sum(cut[:stage]), size)[1] for stage, size in enumerate(cut)), ())

    def cut_within(self, limit_bytes: int) -> tuple[int, ...] | None:
        """A cut with no stage above the limit, or None."""
        num_layers = len(self.table.prices)
        return furthest_cut(
            num_layers, self.table.mesh.pp, lambda stage, start, size: self.stage(stage, start, size)[0] <= limit_bytes
        )

    def _choices(self, start: int, size: int) -> Iterator[Modes]:
        """The first blocks as many as the rule of the table says, or with a free choice every set that can be least
        where smaller blocks free less.

        While one recomputed layer runs backward it needs all that it would have kept, so the largest of the set
        decides, and with it all smaller ones are recomputed too.
        """
        layers = range(start, start + size)
        blocks = recomputable(self.table.setting.model, layers)
        if self.table.num_recomputed is not None:
            yield _modes(layers, blocks[: self.table.num_recomputed])
            return
        yield _modes(layers, [])
        saved_bytes = {index: self.table.prices[index].saved_bytes for index in blocks}
        for largest in sorted(set(saved_bytes.values())):
            yield _modes(layers, [index for index in blocks if saved_bytes[index] <= largest])


def leanest_plan(
    candidates: Sequence[Candidate], framework: Framework, recompute: str | None, deadline: Deadline
) -> tuple[Candidate, Plan]:
    """The plan with the least peak among all cuts and recompute choices of `candidates`, of which there must be one.

    The least of those seen where the deadline passes before all are.
    """
    ordered = sorted(candidates, key=lambda candidate: candidate.memory_floor_bytes)
    first = _tables(ordered[0], framework, recompute, Deadline())[-1]
    even = even_cut(ordered[0].setting.model, ordered[0].mesh.pp)
    least_bytes, best = first.peak_bytes(even), (ordered[0], first, even)
    try:
        for candidate in ordered:
            if candidate.memory_floor_bytes >= least_bytes:
                break
            for table in _tables(candidate, framework, recompute, deadline):
                cut = _leanest_cut(table, candidate.memory_floor_bytes, least_bytes)
                if cut is not None:
                    least_bytes, best = table.peak_bytes(cut), (candidate, table, cut)
    except OutOfTime:
        pass
    candidate, table, cut = best
    return candidate, plan_of(framework.name, candidate.mesh, cut, table.modes(cut))


def _leanest_cut(table: LeanTable, floor_bytes: int, below_bytes: int) -> tuple[int, ...] | None:
    """The cut with the least peak, or None where none is below `below_bytes`."""
    best = table.cut_within(below_bytes - 1)
    if best is None:
        return None
    too_low_bytes, least_bytes = floor_bytes - 1, table.peak_bytes(best)
    while least_bytes - too_low_bytes > 1:
        middle_bytes = (too_low_bytes + least_bytes) // 2
        cut = table.cut_within(middle_bytes)
        if cut is None:
            too_low_bytes = middle_bytes
        else:
            best, least_bytes = cut, table.peak_bytes(cut)
    return best


def _tables(candidate: Candidate, framework: Framework, recompute: str | None, deadline: Deadline) -> list[LeanTable]:
    """One for each recompute rule that can be least where blocks are equal: the first, and that which recomputes most.

    Between unequal blocks under a rule for all stages another may need a little less; the plan named is then near the
    leanest.
    """
    rules = recompute_rules(candidate.setting.model, framework, recompute)
    return [
        LeanTable(StageTable(candidate.setting, candidate.mesh, candidate.prices, rule, allow_tight=False), deadline)
        for rule in dict.fromkeys((rules[0], rules[-1]))
    ]


def _modes(layers: range, recomputed: Sequence[int]) -> Modes:
    full = frozenset(recomputed)
    return tuple(Recompute.FULL if index in full else Recompute.NONE for index in layers)
