"""Which exceptions on a rank are failures of the run, in one sentence, and which are defects of ours."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

from costmodel.errors import BadInputError
from executor.failures import LostPeerError, RankFailedError, expected_failure, failures_of

GLOO = RuntimeError("[../third_party/gloo/gloo/transport/tcp/pair.cc:539] Connection closed by peer [127.0.0.1]:1")


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (torch.OutOfMemoryError("CUDA out of memory.\nTried 2 GiB"), RankFailedError, "ran out of memory: CUDA out of"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 1 TB"), RankFailedError, "ran out of memory"),
        (MemoryError(), RankFailedError, "ran out of memory: no reason given"),
        (dist.DistBackendError("NCCL error: remote process exited"), LostPeerError, "failed: DistBackendError: NCCL"),
        (dist.DistNetworkError("port 29500 is in use"), LostPeerError, "failed: DistNetworkError: port"),
        (GLOO, LostPeerError, "failed: RuntimeError: [../third_party"),
        (torch.AcceleratorError("CUDA error: uncorrectable ECC error", 1), RankFailedError, "uncorrectable ECC error"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_of_the_run_is_one_sentence_that_names_the_rank(
    error: Exception, kind: type[RankFailedError], sentence: str
) -> None:
    failure = expected_failure(error, "rank 1 of 2")
    assert type(failure) is kind
    assert str(failure).startswith("rank 1 of 2 ")
    assert sentence in str(failure)
    assert "\n" not in str(failure)


@pytest.mark.parametrize(
    "error", [TypeError("x"), AssertionError(), KeyError("gloo/transport"), RuntimeError("shape mismatch")]
)
def test_a_defect_of_ours_is_no_failure_of_the_run(error: Exception) -> None:
    assert expected_failure(error, "rank 1 of 2") is None
    with pytest.raises(type(error)) as raised, failures_of("rank 1 of 2"):
        raise error
    assert raised.value is error


def test_what_pipelining_wraps_is_judged_by_its_cause() -> None:
    def wrapped(cause: Exception) -> Exception:
        error = RuntimeError("stage 0 failed")
        error.__cause__ = cause
        return error

    for_user = BadInputError("lr is -1")
    assert expected_failure(wrapped(for_user), "rank 0 of 2") is for_user
    assert isinstance(expected_failure(wrapped(GLOO), "rank 0 of 2"), LostPeerError)
    assert expected_failure(wrapped(TypeError("x")), "rank 0 of 2") is None
    with pytest.raises(RankFailedError, match="rank 0 of 2 ran out of memory"), failures_of("rank 0 of 2"):
        raise wrapped(MemoryError("1 TB"))
