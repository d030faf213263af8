"""`run`: from a plan file and a text to a measurement, and every reason not to start."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
from plan_files import TINY_LLAMA, plan_file, tiny_plan, tiny_workload

from costmodel.errors import BadInputError, MissingError, PlannerError, RunFailedError
from costmodel.spec import Measurement, Plan, Workload
from executor.cores import num_cores, threads_per_rank
from executor.run import run


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("data") / "text.txt"
    file.write_text("To be, or not to be, that is the question. " * 50)
    return file


def train(plan: Plan, text: Path, steps: int = 4, **options: Any) -> Measurement:
    measurement = run(plan_file(plan), data=text, steps=steps, lr=1e-3, device="cpu", **options)
    assert measurement is not None
    return measurement


def test_a_run_is_measured(text: Path) -> None:
    seen: list[tuple[int, float, float]] = []
    plan = tiny_plan(dp=2, zero=1, micro_batch=2)
    measurement = train(plan, text, steps=5, seed=3, on_step=lambda *step: seen.append(step))
    assert measurement.plan_id == plan.plan_id
    assert measurement.question_id == plan_file(plan).question_id
    assert measurement.seed == 3
    assert [step for step, _, _ in seen] == [0, 1, 2, 3, 4]
    assert measurement.losses == tuple(loss for _, loss, _ in seen)
    assert measurement.step_times_s == tuple(time_s for _, _, time_s in seen)
    assert measurement.num_warmup_steps == 2  # half of the steps, at most 3
    assert measurement.step_time_median_s == statistics.median(measurement.step_times_s[2:])
    assert measurement.losses[-1] < measurement.losses[0]
    assert len(measurement.peak_memory_bytes) == 2
    assert measurement.memory_counter == "resident"
    assert measurement.within_interval is True
    assert measurement.provenance.backend == "gloo"
    assert measurement.provenance.num_ranks == 2
    assert measurement.provenance.threads_per_rank == threads_per_rank(2)
    assert Measurement.from_json(measurement.to_json(), "measurement") == measurement


@pytest.mark.parametrize("plan", [tiny_plan(dp=2, zero=3), tiny_plan(pp=2, micro_batch=2)], ids=["dp2", "pp2"])
def test_two_layouts_of_one_job_train_to_the_same_losses(text: Path, plan: Plan) -> None:
    alone = train(tiny_plan(micro_batch=8), text)
    assert train(plan, text).losses == pytest.approx(alone.losses, rel=1e-5)


def test_another_seed_gives_another_run(text: Path) -> None:
    plan = tiny_plan(micro_batch=8)
    first = train(plan, text, steps=2)
    assert train(plan, text, steps=2).losses == first.losses
    assert train(plan, text, steps=2, seed=1).losses != first.losses


def test_a_loss_that_stops_being_finite_ends_the_run(text: Path) -> None:
    with pytest.raises(RunFailedError, match=r"the loss became (nan|inf) in step \d .* smaller --lr than 1e\+30"):
        run(plan_file(tiny_plan(dp=2, micro_batch=4)), data=text, steps=20, lr=1e30, device="cpu")


def test_more_ranks_than_cores_run_with_a_warning(text: Path) -> None:
    notes: list[str] = []
    num_ranks = 1 << num_cores().bit_length()
    workload = tiny_workload(global_batch=num_ranks)
    run(plan_file(tiny_plan(dp=num_ranks), workload=workload), data=text, steps=1, device="cpu", notify=notes.append)
    assert notes == [
        f"{num_ranks} CPU ranks share {num_cores()} cores; step times will be longer than with one core each"
    ]


TIED = TINY_LLAMA | {"tie_word_embeddings": True}
SMALL_VOCABULARY = TINY_LLAMA | {"vocab_size": 255}
ODD_SEQUENCE = Workload(global_batch=8, seq_len=30)
FOR_MEGATRON = tiny_plan().model_copy(update={"framework": "megatron"})


@pytest.mark.parametrize(
    ("plan", "parts", "sentence"),
    [
        (FOR_MEGATRON, {}, "run trains native plans only"),
        (tiny_plan(tp=2).model_copy(update={"etp": 1}), {}, "etp = 1 is priced, but neither trained with"),
        (tiny_plan(micro_batch=3), {}, "global batch 8 is not a multiple of micro-batch 3"),
        (tiny_plan(pp=2, micro_batch=8), {}, "1f1b needs at least one micro-batch for each of its 2 stages"),
        (tiny_plan(tp=3), {}, "tp is 3, but the config's num_attention_heads is 8"),
        (tiny_plan(tp=4), {"workload": ODD_SEQUENCE}, "tp is 4, but seq_len is 30"),
        (tiny_plan(pp=2), {"hf_config": TIED}, "pp is 2, but the model ties embedding and head"),
        (tiny_plan(), {"hf_config": SMALL_VOCABULARY}, "vocab_size is 255.* at least 256"),
        (tiny_plan(num_blocks=3), {}, "cut holds 5 layers, but the model has 6"),
    ],
)
def test_a_plan_that_cannot_run_is_refused_before_it_starts(
    text: Path, plan: Plan, parts: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadInputError, match=sentence):
        run(plan_file(plan, **parts), data=text, steps=1, device="cpu")


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"steps": 0}, BadInputError, "--steps is 0, but must be"),
        ({"steps": 10**9 + 1}, BadInputError, "--steps is 1000000001"),
        ({"seed": -1}, BadInputError, "--seed is -1"),
        ({"seed": 2**63}, BadInputError, "--seed is 9223372036854775808"),
        ({"lr": -1.0}, BadInputError, "--lr is -1, but must be above 0"),
        ({"lr": 0.0}, BadInputError, "--lr is 0, but must be above 0"),
        ({"lr": float("nan")}, BadInputError, "--lr is nan"),
        ({"device": "tpu"}, BadInputError, "device is 'tpu'"),
        ({"data": Path("missing.txt")}, BadInputError, "missing.txt: there is no such file"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(
    text: Path, options: dict[str, Any], kind: type[PlannerError], sentence: str
) -> None:
    arguments: dict[str, Any] = {"data": text, "steps": 1, "device": "cpu"} | options
    with pytest.raises(kind, match=sentence):
        run(plan_file(tiny_plan()), **arguments)


def test_cuda_is_missed_where_there_is_none(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(MissingError, match="no CUDA device here; use --device cpu"):
        run(plan_file(tiny_plan()), data=text, steps=1, device="cuda")


def test_a_launcher_with_another_number_of_ranks_is_refused(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BadInputError, match="torchrun started 4 ranks, but the plan is for 2"):
        run(plan_file(tiny_plan(dp=2)), data=text, steps=1, device="cpu")
