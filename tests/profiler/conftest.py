"""One small profile on two real ranks, measured once for all tests that look at it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from small_layers import SmallLayers, small_model

from costmodel.spec import Precision, Profile
from executor.ranks import run_ranks, send_to_parent
from profiler.contract import ProfileRequest
from profiler.measure import measure


@dataclass
class Measured:
    """A profile, the request for it, and what was heard meanwhile."""

    request: ProfileRequest
    profile: Profile
    progress: list[tuple[float, str]] = field(default_factory=list)


@pytest.fixture(scope="session")
def measured() -> Measured:
    model = small_model(hidden=64, num_heads=4, ffn_hidden=192, vocab=512, num_blocks=3)
    request = ProfileRequest(
        hf_config={"model_type": "llama", "hidden_size": 64},
        model=model,
        device="cpu",
        num_ranks=2,
        micro_batches=(1, 8),
        seq_len=64,
        precision=Precision.FP32,
        tp_degrees=(1, 2),
        budget_s=0.5,
        versions={"parallelism-planner": "0"},
    )
    progress: list[tuple[float, str]] = []
    profile = measure(
        request,
        SmallLayers(model),
        run_ranks,
        lambda frac, what: progress.append((frac, what)),
        send_to_parent=send_to_parent,
    )
    return Measured(request, profile, progress)
