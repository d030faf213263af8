"""A whole profile of a small model on two real gloo ranks."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
import torch
from small_layers import SmallLayers

from costmodel.spec import Block, Collective, DeviceKind, LayerSample, LinkKind, Precision, Profile, Source, Spread
from executor.ranks import run_ranks
from profiler.collectives import BETWEEN_ALL
from profiler.contract import ProfileRequest
from profiler.measure import measure, noise_warning

if TYPE_CHECKING:
    from conftest import Measured


def sample(profile: Profile, kind: str, tp: int, micro_batch: int) -> LayerSample:
    (found,) = (
        item for item in profile.layers if (item.layer.kind, item.tp, item.micro_batch) == (kind, tp, micro_batch)
    )
    return found


def test_every_layer_is_there_once(measured: Measured) -> None:
    keys = [(item.layer.kind, item.tp, item.micro_batch) for item in measured.profile.layers]
    assert sorted(keys) == sorted(product(("embedding", "block", "head"), (1, 2), (1, 8)))
    assert all(item.seq_len == 64 and item.precision is Precision.FP32 for item in measured.profile.layers)
    assert all(item.forward.num_samples >= 5 for item in measured.profile.layers)


def test_every_collective_is_there_once(measured: Measured) -> None:
    samples = measured.profile.collectives
    sizes = {item.size_bytes for item in samples}
    ops = {*BETWEEN_ALL, Collective.SEND_RECV}
    assert len(samples) == len(sizes) * len(ops)
    assert {item.op for item in samples} == ops
    assert {item.num_ranks for item in samples} == {2}
    assert min(sizes) == 1024


def test_the_optimizer_steps_over_shares_of_the_model(measured: Measured) -> None:
    whole = measured.request.model.params_total
    assert [item.num_params for item in measured.profile.optimizer] == [whole // 16, whole // 4, whole]


@pytest.mark.parametrize("micro_batch", [1, 8])
@pytest.mark.parametrize("tp", [1, 2])
def test_saved_bytes_of_a_block_are_those_counted_by_hand(measured: Measured, micro_batch: int, tp: int) -> None:
    block = measured.request.model.blocks[0]
    assert isinstance(block, Block)
    tokens = micro_batch * 64
    # Values of a token that the block keeps. Of the whole width 64: for each of two norms its input, the normalised
    # input before the weight, and the output. Share of a rank: query, key, value and attention's output (64 / tp each);
    # gate, silu(gate), up and their product (192 / tp each). Beside them one number for each norm (its root) and one
    # for each head (attention's logarithm of sums).
    per_token = 2 * 3 * 64 + 4 * 64 // tp + 4 * 192 // tp + 2 + 4 // tp
    assert sample(measured.profile, "block", tp, micro_batch).saved_bytes == 4 * per_token * tokens


def test_saved_bytes_of_the_embedding_are_its_token_ids(measured: Measured) -> None:
    assert sample(measured.profile, "embedding", 1, 8).saved_bytes == 8 * 8 * 64


def test_the_machine_is_described(measured: Measured) -> None:
    cluster = measured.profile.cluster
    assert cluster.num_devices == 2
    assert cluster.device.kind is DeviceKind.CPU
    assert cluster.device.source is Source.MEASURED
    assert set(cluster.device.peak_flop_per_s) == {Precision.BF16, Precision.FP32}
    assert 0 < cluster.device.attention_efficiency_frac <= 1
    (tier,) = cluster.tiers
    assert (tier.name, tier.link, tier.num_devices) == ("node", LinkKind.SHARED_MEMORY, 2)
    # A network within one computer: between 1 microsecond and 100 milliseconds, 1 MB/s and 1 TB/s.
    assert 1e-6 < tier.latency_s < 0.1
    assert 1e6 < tier.bandwidth_bytes_per_s < 1e12


def test_everything_takes_its_turn_in_every_round(measured: Measured) -> None:
    profile = measured.profile
    spreads = [item.forward for item in profile.layers] + [item.time for item in profile.collectives]
    assert len({spread.num_samples for spread in spreads + [item.time for item in profile.optimizer]}) == 1


def test_provenance_names_what_was_used(measured: Measured) -> None:
    provenance = measured.profile.provenance
    assert provenance.backend == "gloo"
    assert provenance.num_ranks == 2
    assert set(provenance.versions) == {"python", "torch", "parallelism-planner"}
    assert provenance.date.endswith("+00:00")


def test_json_round_trip(measured: Measured) -> None:
    text = measured.profile.to_json()
    again = Profile.from_json(text, "profile.json")
    assert again == measured.profile
    assert again.to_json() == text


def test_progress_runs_from_nothing_to_done(measured: Measured) -> None:
    fracs = [frac for frac, _ in measured.progress]
    assert fracs[0] == 0.0
    assert fracs[-1] == 1.0
    assert fracs == sorted(fracs)
    assert len({what for _, what in measured.progress}) >= 5


def test_one_rank_joins_nothing(measured: Measured) -> None:
    model = measured.request.model
    request = ProfileRequest(
        hf_config={},
        model=model,
        device="cpu",
        num_ranks=1,
        micro_batches=(1,),
        seq_len=16,
        precision=Precision.FP32,
        tp_degrees=(1,),
        budget_s=0.1,
    )
    profile = measure(request, SmallLayers(model), run_ranks, prepare_rank=lambda: torch.set_num_threads(1))
    assert profile.provenance.threads_per_rank == 1
    assert profile.collectives == ()
    (tier,) = profile.cluster.tiers
    assert "joined to no other" in tier.note


def test_a_noisy_profile_is_named_as_one(measured: Measured) -> None:
    steady = measured.profile.model_copy(update={"layers": tuple(map(_steady, measured.profile.layers))})
    assert steady.variation_frac == 0
    assert noise_warning(steady) is None
    noisy = steady.model_copy(update={"layers": tuple(map(_noisy, steady.layers))})
    assert "vary by" in (noise_warning(noisy) or "")


def _steady(sample: LayerSample) -> LayerSample:
    return sample.model_copy(update={name: _spread(getattr(sample, name), 1) for name in ("forward", "backward")})


def _noisy(sample: LayerSample) -> LayerSample:
    return sample.model_copy(update={"backward": _spread(sample.backward, 10)})


def _spread(of: Spread, high: float) -> Spread:
    """Never faster than the median, and at most `high` times as slow."""
    return of.model_copy(update={"low_s": of.median_s, "high_s": high * of.median_s})
