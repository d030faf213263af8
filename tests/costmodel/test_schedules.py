"""Schedules: their text form, their laws, and their bounds against the simulation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel.schedules import ONE_STAGE_A_RANK, SCHEDULES, Action, interleaved, lower_bound_s, simulate
from costmodel.spec import Schedule

sizes = st.tuples(st.integers(1, 6), st.integers(1, 9))
times = st.floats(0.01, 10)


@given(st.integers(0, 99), st.sampled_from("FB"), st.integers(0, 999))
def test_action_text_has_an_exact_inverse(stage, kind, microbatch):
    action = Action(stage, kind, microbatch)
    assert Action.parse(str(action)) == action


@pytest.mark.parametrize("text", ["", "F0", "2X0", "2F", "2F0 ", "-1F0"])
def test_other_text_is_not_an_action(text):
    with pytest.raises(ValueError, match="not an action"):
        Action.parse(text)


@pytest.mark.parametrize("schedule", ONE_STAGE_A_RANK)
@given(size=sizes)
def test_every_pass_happens_once_and_backward_follows_forward(schedule, size):
    num_stages, num_microbatches = size
    for stage, actions in enumerate(SCHEDULES[schedule].order(num_stages, num_microbatches)):
        assert sorted(map(str, actions)) == sorted(f"{stage}{k}{m}" for k in "FB" for m in range(num_microbatches))
        for microbatch in range(num_microbatches):
            assert actions.index(Action(stage, "F", microbatch)) < actions.index(Action(stage, "B", microbatch))


@pytest.mark.parametrize("schedule", ONE_STAGE_A_RANK)
@given(size=sizes)
def test_in_flight_is_the_most_activations_ever_held(schedule, size):
    num_stages, num_microbatches = size
    kind = SCHEDULES[schedule]
    for stage, actions in enumerate(kind.order(num_stages, num_microbatches)):
        held, most = 0, 0
        for action in actions:
            held += 1 if action.kind == "F" else -1
            most = max(most, held)
        assert most == kind.in_flight(stage, num_stages, num_microbatches)


@pytest.mark.parametrize("schedule", ONE_STAGE_A_RANK)
@given(data=st.data(), size=sizes, transfer=st.sampled_from([0.0, 0.1, 3.0]))
def test_no_simulation_undercuts_the_lower_bound(schedule, data, size, transfer):
    num_stages = size[0]
    forward = data.draw(st.lists(times, min_size=num_stages, max_size=num_stages))
    backward = data.draw(st.lists(times, min_size=num_stages, max_size=num_stages))
    kind = SCHEDULES[schedule]
    end_s = simulate(kind.order(*size), forward, backward, transfer).end_s
    bound_s = lower_bound_s(kind.bound_rows(*size), forward, backward, transfer)
    assert bound_s <= end_s * (1 + 1e-9)


@pytest.mark.parametrize("schedule", ONE_STAGE_A_RANK)
@given(data=st.data(), size=sizes)
def test_no_cut_undercuts_the_bound_on_total_and_bottleneck(schedule, data, size):
    num_stages, num_microbatches = size
    forward = data.draw(st.lists(times, min_size=num_stages, max_size=num_stages))
    backward = data.draw(st.lists(times, min_size=num_stages, max_size=num_stages))
    kind = SCHEDULES[schedule]
    stages = [f + b for f, b in zip(forward, backward, strict=True)]
    bound_s = kind.any_cut_bound_s(sum(stages), max(stages), num_stages, num_microbatches)
    assert bound_s <= simulate(kind.order(*size), forward, backward).end_s * (1 + 1e-9)


@pytest.mark.parametrize("schedule", ONE_STAGE_A_RANK)
def test_bounds_are_exact_for_even_stages(schedule):
    # m = 8, S = 4, t = 3: 33 by the textbook bubble, and no cut of the same total 12 can do better.
    kind = SCHEDULES[schedule]
    assert lower_bound_s(kind.bound_rows(4, 8), [1] * 4, [2] * 4, 0) == 33
    assert kind.any_cut_bound_s(12, 3, 4, 8) == pytest.approx(33)


def test_even_stages_without_transfer_have_the_textbook_bubble():
    # m = 8 micro-batches, S = 4 stages, f = 1, b = 2: (m + S - 1) (f + b) = 11 * 3 = 33 for both schedules.
    for schedule in ONE_STAGE_A_RANK:
        assert simulate(SCHEDULES[schedule].order(4, 8), [1] * 4, [2] * 4).end_s == 33


def test_one_forward_one_backward_of_two_uneven_stages():
    # Stage 0: f = b = 10; stage 1: f = b = 1; m = 2. Stage 0 runs F0 F1 until 20; stage 1 F0 at 10-11, B0 11-12;
    # stage 0 B0 20-30; stage 1 F1 20-21, B1 21-22; stage 0 B1 30-40.
    assert simulate(SCHEDULES[Schedule.ONE_F_ONE_B].order(2, 2), [10, 1], [10, 1]).end_s == 40


def test_transfer_and_release_delay_the_start():
    # Two stages, one micro-batch, f = b = 1, transfer 0.5, rank 1 free from 5: F0 0-1, F1 5-6 (released), B1 6-7,
    # hop 0.5, B0 7.5-8.5.
    timeline = simulate(SCHEDULES[Schedule.GPIPE].order(2, 1), [1, 1], [1, 1], 0.5, [0.0, 5.0])
    assert timeline.end_s == 8.5
    assert [(a.rank, a.kind, a.start_s) for a in timeline.actions] == [
        (0, "F", 0),
        (0, "B", 7.5),
        (1, "F", 5),
        (1, "B", 6),
    ]


def test_lists_that_wait_for_each_other_are_refused():
    ranks = [[Action(0, "B", 0), Action(0, "F", 0)], [Action(1, "F", 0), Action(1, "B", 0)]]
    with pytest.raises(ValueError, match="0B0, 1F0 wait for each other"):
        simulate(ranks, [1, 1], [1, 1])


grids = st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(2, 4))
"""Ranks, groups of as many micro-batches, chunks of a rank."""


@given(grid=grids)
def test_interleaved_runs_every_pass_once_on_its_rank(grid):
    num_ranks, groups, num_chunks = grid
    num_microbatches = groups * num_ranks
    for rank, actions in enumerate(interleaved.order(num_ranks, num_microbatches, num_chunks)):
        stages = range(rank, num_ranks * num_chunks, num_ranks)
        assert sorted(actions) == sorted(
            Action(stage, kind, m) for stage in stages for kind in "FB" for m in range(num_microbatches)
        )


def most_held(actions, weights, num_ranks):
    """What a rank holds at most, action by action, where a micro-batch of chunk c weighs `weights[c]`."""
    held, most = 0, 0
    for action in actions:
        weight = weights[action.stage // num_ranks]
        held += weight if action.kind == "F" else -weight
        most = max(most, held)
    return most


@given(grid=grids, data=st.data())
def test_interleaved_holds_most_as_it_says(grid, data):
    num_ranks, groups, num_chunks = grid
    num_microbatches = groups * num_ranks
    weights = data.draw(st.lists(st.integers(0, 9), min_size=num_chunks, max_size=num_chunks))
    for rank, actions in enumerate(interleaved.order(num_ranks, num_microbatches, num_chunks)):
        counts = [
            interleaved.in_flight(chunk * num_ranks + rank, num_ranks, num_microbatches, weights)
            for chunk in range(num_chunks)
        ]
        held = sum(count * weight for count, weight in zip(counts, weights, strict=True))
        assert held == most_held(actions, weights, num_ranks)


@given(data=st.data(), grid=grids, transfer=st.sampled_from([0.0, 0.1]))
def test_no_interleaved_simulation_undercuts_its_bounds(data, grid, transfer):
    num_ranks, groups, num_chunks = grid
    size = (num_ranks, groups * num_ranks, num_chunks)
    num_stages = num_ranks * num_chunks
    forward, backward = (data.draw(st.lists(times, min_size=num_stages, max_size=num_stages)) for _ in "FB")
    end_s = simulate(interleaved.order(*size), forward, backward, transfer).end_s
    assert lower_bound_s(interleaved.bound_rows(*size), forward, backward, transfer) <= end_s * (1 + 1e-9)
    stages = [f + b for f, b in zip(forward, backward, strict=True)]
    assert interleaved.any_cut_bound_s(sum(stages), max(stages), *size) <= end_s * (1 + 1e-9)


def test_chunks_make_the_bubble_smaller():
    # 4 ranks, 8 micro-batches, 2 chunks of half a stage each: 8 x 3 + 3 x 3 / 2 = 28.5 (arXiv 2104.04473, section 2.2).
    assert simulate(interleaved.order(4, 8, 2), [0.5] * 8, [1.0] * 8).end_s == pytest.approx(28.5)


def test_activations_of_the_first_and_the_last_rank():
    # 4 ranks, 2 chunks: the first holds pp + (pp - 1) / v = 5.5 micro-batches of its layers, in chunks 2 x 5.5 = 11;
    # the last 1 / v + (v - 1) pp / v = 2.5, in chunks 1 + 4 = 5.
    assert [interleaved.in_flight(stage, 4, 8, (1, 1)) for stage in (0, 4)] == [7, 4]
    assert [interleaved.in_flight(stage, 4, 8, (1, 1)) for stage in (3, 7)] == [4, 1]


def test_a_heavy_first_chunk_holds_more_later():
    # 7 and 4 of weights 2 and 1 make 18. The first backward pass is one of the second chunk, the next forward pass one
    # of the first: 8 and 3 make 19.
    assert [interleaved.in_flight(stage, 4, 8, (2, 1)) for stage in (0, 4)] == [8, 3]
    assert most_held(interleaved.order(4, 8, 2)[0], (2, 1), 4) == 19
