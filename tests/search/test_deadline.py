"""A time limit: it holds inside every part of the search, and what it leaves undone stays in the certificate."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
from brute_force import fastest, obeys, try_all
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_samples import AMPLE_BYTES, block, cluster, job, jobs, model, with_memory

from costmodel.errors import BadInputError
from costmodel.spec import Verdict
from planner.frameworks import registry
from planner.job import Job, Layout, setting_of
from planner.search import cut, deadline
from planner.search.candidates import Candidate, find_candidates
from planner.search.deadline import Deadline, OutOfTime
from planner.search.inner import MeshSearch
from planner.search.solve import solve

PASSED = Deadline(end_s=0.0)
FAR = Deadline.after(1e6)


@pytest.fixture
def ticking(monkeypatch):
    """A clock that a look moves on by one second, so that a limit counts looks and no machine is too slow."""
    ticks = itertools.count()
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))


def candidate_with(of: Job, **choices) -> Candidate:
    """The first mesh with these choices."""
    found = find_candidates(of, setting_of(of), registry.get(of.framework), Layout(**choices))
    return found.expressible[0]


def mesh_search(of: Job, until: Deadline, **choices) -> MeshSearch:
    return MeshSearch(registry.get(of.framework), candidate_with(of, **choices), None, False, until)


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    of=jobs(frameworks=("native", "megatron")),
    fixed=st.sampled_from([Layout(), Layout(), Layout(tp=1), Layout(zero=0, micro_batch=1), Layout(recompute="full")]),
    num_looks=st.integers(0, 150),
    tightness=st.floats(0, 1),
)
def test_wherever_it_strikes_the_answer_is_true(
    ticking, of: Job, fixed: Layout, num_looks: int, tightness: float
) -> None:
    tried = try_all(of)
    needs = sorted(one.peak_high_bytes for one in tried)
    small = with_memory(of, needs[int(tightness * (len(needs) - 1))] if needs else AMPLE_BYTES)
    limit_bytes = small.cluster.device.memory_limit_bytes
    best, best_in_space = fastest(tried, limit_bytes), fastest(tried, limit_bytes, lambda plan: obeys(of, fixed, plan))
    try:
        answer = solve(small, fixed, time_limit_s=float(num_looks))
    except BadInputError:
        return
    if answer.plan_file is None:
        assert best_in_space is None
        return
    prediction, certificate = answer.plan_file.prediction, answer.plan_file.certificate
    assert prediction.verdict is Verdict.FITS
    assert 0 < certificate.lower_bound_s <= best.step_time_s * (1 + 1e-9)
    assert certificate.gap_frac == pytest.approx(1 - certificate.lower_bound_s / prediction.step_time_s, abs=1e-12)
    bound_in_space_s = prediction.step_time_s * (1 - certificate.gap_in_space_frac)
    assert bound_in_space_s <= best_in_space.step_time_s * (1 + 1e-9)
    assert certificate.pruned + certificate.solved <= certificate.considered


def test_a_search_without_time_says_so_and_not_that_nothing_fits() -> None:
    with pytest.raises(BadInputError, match=r"--time-limit is 0 s, in which no plan that fits was found, though"):
        solve(job(model((block(), 4)), cluster(4)), Layout(), time_limit_s=0.0)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    of = job(model((block(), 4)), cluster(4))
    limited, unlimited = (solve(of, Layout(), time_limit_s=limit_s).plan_file for limit_s in (1e6, None))
    assert limited.plan == unlimited.plan
    assert limited.certificate.gap_frac == unlimited.certificate.gap_frac == 0


def test_no_stage_is_computed_once_it_has_passed() -> None:
    of = job(model((block(), 4)), cluster(2))
    for choices in ({"pp": 1}, {"pp": 2}):
        with pytest.raises(OutOfTime):
            mesh_search(of, PASSED, **choices).probe()


@pytest.mark.parametrize("pp", [1, 2])
def test_a_mesh_cut_short_keeps_its_own_bound(pp: int) -> None:
    search = mesh_search(job(model((block(), 4)), cluster(2)), FAR, pp=pp, recompute=None)
    priced = search.probe()
    search.deadline = PASSED
    for table in search._tables.values():
        table.deadline = PASSED
        table._options.clear()
    improved = search.improve(2 * priced.step_time_s, priced.step_time_s)
    assert improved.best is None
    assert improved.lower_bound_s == search.candidate.lower_bound_s


@pytest.mark.parametrize("until", [Deadline(), FAR])
def test_the_solver_of_cuts_is_given_what_is_left(monkeypatch, until: Deadline) -> None:
    """Its own unit of work stops it alike on every machine; only a time limit adds a clock."""
    seen = []

    class Watched(cut.cp_model.CpSolver):
        def solve(self, *args):
            seen.append((self.parameters.max_time_in_seconds, self.parameters.max_deterministic_time))
            return super().solve(*args)

    monkeypatch.setattr(cut.cp_model, "CpSolver", Watched)
    search = mesh_search(job(model((block(), 4)), cluster(2)), until, pp=2)
    priced = search.probe()
    search.improve(priced.step_time_s, priced.step_time_s / 2)
    (time_s, work), *_ = seen
    assert work == 1.0
    assert (time_s <= 1e6) == until.limited
