"""Which exceptions on a rank are failures of the run, in one sentence, and which are defects of ours."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

from costmodel.errors import BadInputError
from executor.failures import LostPeerError, RankFailedError, expected_failure, failures_of

GLOO = RuntimeError("[../third_party/gloo/gloo/transport/tcp/pair.cc:539] Connection closed by peer [127.0.0.1]:1")
MORE_MEMORY = "use a smaller --micro-batch, more recomputation or more GPUs"
SEE_PEER = "most likely another rank ended first; see its message"
MEET = "check that every rank runs, and that MASTER_ADDR and MASTER_PORT lead to a free port of rank 0"
CHECK_GPU = "check the GPU with nvidia-smi, then run again"


@pytest.mark.parametrize(
    ("error", "kind", "what", "remedy"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory.\nTried 2 GiB"),
            RankFailedError,
            "ran out of memory: OutOfMemoryError: CUDA out of memory",
            MORE_MEMORY,
        ),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: 1 TB"),
            RankFailedError,
            "ran out of memory: RuntimeError: DefaultCPUAllocator: can't allocate memory: 1 TB",
            MORE_MEMORY,
        ),
        (MemoryError(), RankFailedError, "ran out of memory: MemoryError", MORE_MEMORY),
        (dist.DistBackendError("\nNCCL error"), LostPeerError, "failed: DistBackendError: NCCL error", SEE_PEER),
        (GLOO, LostPeerError, f"failed: RuntimeError: {GLOO}", SEE_PEER),
        (dist.DistNetworkError("port 1 in use"), LostPeerError, "failed: DistNetworkError: port 1 in use", MEET),
        (dist.DistStoreError(), LostPeerError, "failed: DistStoreError", MEET),
        (torch.AcceleratorError("ECC error"), RankFailedError, "failed: AcceleratorError: ECC error", CHECK_GPU),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_of_the_run_is_one_sentence_with_the_rank_what_happened_and_what_to_do(
    error: Exception, kind: type[RankFailedError], what: str, remedy: str
) -> None:
    failure = expected_failure(error, "rank 1 of 2")
    assert type(failure) is kind
    assert str(failure) == f"rank 1 of 2 {what}; {remedy}"


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
