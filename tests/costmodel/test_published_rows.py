"""Published runs become the right inputs of `predict`, and the half-widths are those of the residuals on file."""

from __future__ import annotations

import json
import math

import pytest

from benchmarks.published.express import Job, LeftOut, express
from benchmarks.published.residuals import RESULTS, residuals, summary
from benchmarks.published.rows import GIB, Row, read_rows
from benchmarks.published.spread import Residual, half_width, leave_one_out, weighted_quantile
from costmodel.predict import predict
from costmodel.spec import Prediction, Recompute, Schedule, Source
from costmodel.uncertainty import COVERED_FRAC, MEMORY_FRAC, TIME_FRAC
from tests.samples.blocks import attention_of, mlp_of

ROWS = {row.id: row for row in read_rows()}


def job_of(row: Row) -> Job:
    job = express(row)
    assert isinstance(job, Job), job
    return job


def test_a_megatron_recipe_over_two_nodes() -> None:
    """Nemotron-4 15B on 16 H100, tp 4, dp 4, distributed optimizer, 64 sequences in micro-batches of 4."""
    job = job_of(ROWS["dgxc-24.11-Nemotron4-15B-bf16-16"])
    assert job.stack.name == "megatron-core"
    # 32 blocks of q and o 2 x 6144 x 6144, k and v 2 x 6144 x 1024, two feed-forward matrices of 6144 x 24576, two
    # norms of 6144; tables of 256000 x 6144 twice; the last norm:
    # 32 x (75,497,472 + 12,582,912 + 301,989,888 + 12,288) + 3,145,728,000 + 6,144 = 15,628,376,064 (published: 15.6e9)
    assert job.model.params_total == 15_628_376_064
    assert (job.workload.global_batch, job.workload.seq_len) == (64, 4096)
    assert (job.plan.tp, job.plan.pp, job.plan.dp, job.plan.zero, job.plan.micro_batch) == (4, 1, 4, 1, 4)
    assert job.plan.cut == (34,)  # embedding + 32 blocks + head
    assert job.plan.recompute == Recompute.NONE
    assert (job.cluster.num_devices, job.cluster.devices_per_node) == (16, 8)
    assert job.cluster.tiers[-1].bandwidth_bytes_per_s == 40e9  # the preset's: the row states no network


def test_a_pipeline_inside_one_node() -> None:
    """12 blocks of Llama-3 70B on 8 B200 in two stages: the embedding goes to the first, the head to the last."""
    job = job_of(ROWS["simumax-0001"])
    assert job.plan.cut == (7, 7)  # embedding + 6, 6 + head
    assert job.plan.schedule is Schedule.ONE_F_ONE_B
    assert (job.plan.pp, job.plan.dp, job.plan.tp) == (2, 4, 1)
    assert job.plan.num_microbatches(job.workload.global_batch) == 4  # 16 / (1 x 4)
    block = job.model.blocks[0]
    assert (
        attention_of(block).num_heads,
        attention_of(block).num_kv_heads,
        attention_of(block).head_dim,
        mlp_of(block).gated,
    ) == (64, 8, 128, True)
    assert len(job.cluster.tiers) == 1


def test_eager_fsdp_with_full_recompute_and_tied_embeddings() -> None:
    """MPT-70B on 512 H100: everything sharded, one micro-batch of 8 per rank."""
    job = job_of(ROWS["llmf-0001"])
    assert job.stack.name == "native-cuda"
    assert (job.plan.dp, job.plan.zero, job.plan.micro_batch) == (512, 3, 8)
    assert job.plan.recompute_layers == (Recompute.NONE, *[Recompute.FULL] * 80, Recompute.NONE)
    # 80 blocks of 4 x 8192^2 + 2 x 8192 x 32768 + 2 x 8192, one table of 50368 x 8192, the last norm:
    # 80 x (268,435,456 + 536,870,912 + 16,384) + 412,614,656 + 8,192; the source adds 2048 learned positions of 8192
    assert job.model.params_total == 64_838_443_008
    assert job.model.params_total + 2048 * 8192 == 64_855_220_224  # published: 64,862,437,376, 0.01 % more for biases


def test_a_stated_network_replaces_that_of_the_preset() -> None:
    """InternEvo's nodes of eight share 4 x 100 Gbit/s: 50 Gbit/s = 6.25 GB/s a GPU, at 0.8 of line rate."""
    job = job_of(ROWS["internevo-0005"])
    assert job.cluster.tiers[-1].bandwidth_bytes_per_s == pytest.approx(5e9)
    assert job.cluster.tiers[-1].source is Source.ANALYTIC
    assert job.cluster.tiers[0].bandwidth_bytes_per_s == 185e9


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"framework": "MaxText (JAX)"}, "no software stack for MaxText"),
        ({"recompute": "selective"}, "recomputation of parts of a layer"),
        ({"pp": 5}, "blocks that the stages do not divide"),
        ({"tp": 2, "sp": None}, "tensor parallelism without sequence parallelism, or not stated"),
        ({"zero_group": "2"}, "ZeRO-1 over a part of the data-parallel ranks"),
        ({"notes": "attention-backend=unfused"}, "attention without a fused kernel"),
    ],
)
def test_what_has_no_words_is_left_out_with_its_reason(change: dict[str, object], reason: str) -> None:
    assert express(ROWS["simumax-0001"].model_copy(update=change)) == LeftOut(reason)


def test_the_rank_that_memory_speaks_of() -> None:
    """SimuMax states the worst rank, Megatron's functional tests the last one, which belongs to the last stage."""
    row = ROWS["simumax-0001"]
    assert row.memory_rank == "max"
    assert row.peak_memory_bytes == 66.55 * GIB
    job = job_of(row)
    prediction = predict(job.model, job.workload, job.cluster, job.stack, job.plan)
    assert isinstance(prediction, Prediction)
    first, last = prediction.stages
    assert first.peak_bytes != last.peak_bytes
    (of_worst,) = residuals([row]).memory
    (of_last,) = residuals([row.model_copy(update={"memory_rank": "last"})]).memory
    assert of_worst.predicted == max(first.peak_bytes, last.peak_bytes)
    assert of_last.predicted == last.peak_bytes


def test_quantiles_weigh_sources_not_rows() -> None:
    """A hundred good rows do not hide ten bad ones: half of the weight is off by 0.5."""
    good = [Residual(f"g{index}", "good", 1.1, 1.0, 0.9, 1.2) for index in range(100)]
    bad = [Residual(f"b{index}", "bad", 1.5, 1.0, 0.9, 1.2) for index in range(10)]
    few = [Residual("f", "few", 9.0, 1.0, 0.9, 1.2)]
    assert half_width({"good": good, "bad": bad, "few": few}) == pytest.approx(0.5)
    judged = leave_one_out({"good": good, "bad": bad, "few": few})
    assert judged["bad"].half_width_frac == pytest.approx(0.1)
    assert judged["bad"].covered_frac == 0
    assert judged["good"].covered_frac == 1
    assert weighted_quantile([(1.0, 1.0), (2.0, 1.0), (3.0, 2.0)], 0.5) == 2.0


def test_the_half_widths_are_those_of_the_residuals_on_file() -> None:
    """Rounded up to whole percent, as computed now from the rows, and as written in the results."""
    found = residuals(ROWS.values())
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name, residual, stated in (
        ("time", found.time, TIME_FRAC[Source.ANALYTIC]),
        ("memory", found.memory, MEMORY_FRAC),
    ):
        width = summary(residual)["half_width_frac"]
        assert stored[name]["half_width_frac"] == pytest.approx(width)
        assert stated == math.ceil(100 * width) / 100
        assert [row["id"] for row in stored[name]["rows"]] == [row.id for row in residual]


def test_the_half_width_of_what_was_measured_is_that_of_the_local_runs_on_file() -> None:
    """|measured / predicted - 1| of every layout; the 80th percentile, rounded up to a whole percent."""
    samples = json.loads((RESULTS.parent / "local_accuracy.json").read_text(encoding="utf-8"))["samples"]
    errors = [(abs(sample["measured_s"] / sample["predicted_s"] - 1), 1.0) for sample in samples]
    width = weighted_quantile(errors, COVERED_FRAC)
    assert math.ceil(100 * width) / 100 == TIME_FRAC[Source.MEASURED] == TIME_FRAC[Source.FITTED]
