"""The harness: results come back in rank order, and a rank that fails is named and ends the others."""

from __future__ import annotations

import errno
import faulthandler
import itertools
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
import torch.distributed as dist

from costmodel.errors import BadInputError, RunFailedError
from executor.cores import num_cores, threads_per_rank
from executor.failures import RankDefectError
from executor.ranks import RankGroup, run_ranks, send_to_parent


def sum_of_ranks() -> float:
    value = torch.tensor(float(dist.get_rank()))
    dist.all_reduce(value)
    return value.item()


def describe_rank() -> tuple[int, dict[str, str], int]:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")
    return dist.get_rank(), {name: os.environ[name] for name in names}, torch.get_num_threads()


def process_id() -> int:
    return os.getpid()


def on_rank_1_only(action: Callable[[], None]) -> Callable[[], float]:
    """Rank 1 does `action`, the others wait for it in a collective."""

    def body() -> float:
        if dist.get_rank() == 1:
            action()
        return sum_of_ranks()

    return body


def raise_value_error() -> None:
    raise ValueError("the tensor is too green")


def allocate_too_much() -> None:
    torch.empty(1 << 50)


def raise_bad_input() -> None:
    raise BadInputError("lr is -1; it must be at least 0")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_ever() -> None:
    threading.Event().wait()


@pytest.mark.parametrize("num_ranks", [1, 2, 3])
def test_ranks_share_a_process_group(num_ranks: int) -> None:
    # The sum of 0 to n - 1.
    assert run_ranks(sum_of_ranks, num_ranks) == [num_ranks * (num_ranks - 1) / 2] * num_ranks


def test_results_come_in_rank_order_with_the_environment_of_a_launcher() -> None:
    for rank, (seen, environment, num_threads) in enumerate(run_ranks(describe_rank, 2)):
        assert seen == rank
        expected = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1"}
        assert environment == expected
        assert num_threads == threads_per_rank(2)
    assert "RANK" not in os.environ


def test_threads_share_the_cores() -> None:
    assert threads_per_rank(1) == num_cores()
    assert threads_per_rank(num_cores() + 1) == 1


def test_arguments_and_closures_are_inherited() -> None:
    factor = 3
    assert run_ranks(lambda x: x * factor + dist.get_rank(), 2, 5) == [15, 16]


def test_a_rank_can_use_threads_after_its_parent_did() -> None:
    def work() -> float:
        return float(torch.ones(600, 600).mm(torch.ones(600, 600)).sum())

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        # 600^3, in the parent and then in the forked rank, which would hang on threads that the fork lost.
        assert work() == 600**3
        assert run_ranks(work, 1, timeout_s=60) == [600**3]
    finally:
        torch.set_num_threads(before)


def test_a_defect_on_a_rank_is_ours_and_named_with_its_traceback_though_its_peers_fail_too() -> None:
    with pytest.raises(RankDefectError) as failure:
        run_ranks(on_rank_1_only(raise_value_error), 3)
    first, *rest = str(failure.value).splitlines()
    assert first == "rank 1 of 3 failed: ValueError: the tensor is too green"
    assert any("raise_value_error" in line for line in rest)


def test_memory_that_runs_out_is_a_failure_of_the_run_in_one_sentence() -> None:
    with pytest.raises(RunFailedError) as failure:
        run_ranks(on_rank_1_only(allocate_too_much), 2)
    assert str(failure.value).startswith("rank 1 of 2 ran out of memory: ")
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(("end", "blamed"), [(signal.SIGKILL, "was killed by SIGKILL"), (signal.SIGABRT, "too green")])
def test_a_rank_that_aborts_for_lack_of_its_peer_is_not_blamed(end: signal.Signals, blamed: str) -> None:
    def body() -> None:
        if dist.get_rank() == 1:
            faulthandler.disable()  # pytest's would print where this rank was
            os.kill(os.getpid(), end)
        raise_value_error()

    with pytest.raises((RunFailedError, RankDefectError), match=blamed):
        run_ranks(body, 2)


def test_an_error_for_the_user_passes_through() -> None:
    with pytest.raises(BadInputError) as failure:
        run_ranks(on_rank_1_only(raise_bad_input), 2)
    assert str(failure.value) == "lr is -1; it must be at least 0"


def test_a_rank_that_is_killed_is_named_not_its_peers() -> None:
    with pytest.raises(RunFailedError, match="rank 1 of 2 was killed by SIGKILL"):
        run_ranks(on_rank_1_only(die), 2)


def test_a_rank_that_hangs_ends_by_the_timeout() -> None:
    with pytest.raises(RunFailedError, match=r"did not finish within 0\.5 s"):
        run_ranks(wait_for_ever, 2, timeout_s=0.5)


def test_no_worker_outlives_a_failure() -> None:
    pids: dict[int, int] = {}

    def body() -> None:
        send_to_parent(os.getpid())
        dist.barrier()
        if dist.get_rank() == 0:
            raise_value_error()
        wait_for_ever()

    with pytest.raises(RankDefectError):
        run_ranks(body, 2, on_message=lambda rank, pid: pids.update({rank: pid}))
    assert set(pids) == {0, 1}
    assert not any(is_running(pid) for pid in pids.values())


def test_ctrl_c_in_the_parent_ends_the_ranks() -> None:
    pids: list[int] = []

    def interrupt(rank: int, pid: int) -> None:
        pids.append(pid)
        raise KeyboardInterrupt

    def body() -> None:
        send_to_parent(os.getpid())
        wait_for_ever()

    with pytest.raises(KeyboardInterrupt):
        run_ranks(body, 2, on_message=interrupt)
    assert pids
    assert not any(is_running(pid) for pid in pids)


def test_messages_arrive_in_order() -> None:
    def body() -> None:
        for step in range(3):
            send_to_parent(step)

    seen: dict[int, list[int]] = {0: [], 1: []}
    run_ranks(body, 2, on_message=lambda rank, step: seen[rank].append(step))
    assert seen == {0: [0, 1, 2], 1: [0, 1, 2]}


def test_a_group_keeps_its_processes_between_calls() -> None:
    with RankGroup(2) as ranks:
        first = ranks.call(process_id)
        assert ranks.call(process_id) == first
        assert os.getpid() not in first
    assert not any(is_running(pid) for pid in first)


def test_groups_end_in_any_order() -> None:
    older, younger = RankGroup(2), RankGroup(2)
    older.close()
    assert younger.call(sum_of_ranks) == [1.0, 1.0]
    younger.close()


def test_a_group_that_failed_takes_no_more_calls() -> None:
    ranks = RankGroup(2)
    with pytest.raises(RankDefectError, match="too green"):
        ranks.call(raise_value_error)
    assert not ranks.is_open
    with pytest.raises(RunFailedError, match="start a new group"):
        ranks.call(process_id)


@contextmanager
def room_for_files(num_more: int) -> Iterator[None]:
    """Lets this process open `num_more` files and no other."""
    used = {int(name) for name in os.listdir("/dev/fd")}
    free = (number for number in itertools.count() if number not in used)
    last = next(itertools.islice(free, num_more - 1, None))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that this one forks."""
    pids: list[int] = []
    fork = os.fork

    def fork_and_note() -> int:
        pids.append(fork())
        return pids[-1]

    monkeypatch.setattr(os, "fork", fork_and_note)
    return pids


# 12 ranks have a pipe of 2 ends each, one socket, and 2 files a process: 24 + 1 + 24 = 49.
@pytest.mark.parametrize(("num_files", "some_start"), [(20, False), (24, False), (40, True)])
def test_ranks_for_which_there_are_too_few_open_files_are_refused_and_none_is_left(
    forked: list[int], num_files: int, some_start: bool
) -> None:
    with room_for_files(num_files), pytest.raises(RunFailedError) as refused:
        RankGroup(12)
    assert str(refused.value) == (
        "12 ranks cannot be started here: too many open files; use fewer ranks or raise `ulimit -n`"
    )
    assert bool(forked) is some_start
    assert not any(is_running(pid) for pid in forked)


@pytest.mark.parametrize(("number", "remedy"), [(errno.EAGAIN, "raise `ulimit -u`"), (errno.ENOMEM, "free memory")])
def test_ranks_that_the_system_does_not_fork_are_refused_and_none_is_left(
    forked: list[int], monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    fork = os.fork

    def refuse_the_third() -> int:
        if len(forked) == 2:
            raise OSError(number, os.strerror(number))
        return fork()

    monkeypatch.setattr(os, "fork", refuse_the_third)
    with pytest.raises(RunFailedError, match=f"^3 ranks cannot be started here: .*; use fewer ranks or {remedy}$"):
        run_ranks(sum_of_ranks, 3)
    assert len(forked) == 2
    assert not any(is_running(pid) for pid in forked)


def test_no_rank_at_all_is_refused() -> None:
    with pytest.raises(BadInputError, match="num_ranks is 0"):
        run_ranks(sum_of_ranks, 0)


def test_a_parent_that_has_used_cuda_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(RunFailedError, match="already used CUDA"):
        run_ranks(sum_of_ranks, 1)


def test_more_cuda_ranks_than_devices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(BadInputError, match=r"4 CUDA ranks .* 2 CUDA devices .* at most 2"):
        run_ranks(sum_of_ranks, 4, device="cuda")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
