"""Rows of a file become rows of predictions, in order; what has none says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from costmodel.errors import BadInputError
from costmodel.memory_counter import MemoryCounter, MemoryRank, counted_peak
from planner.validation.answers import Answer, answer, answer_all
from planner.validation.measured import GIB, Measured
from planner.validation.output import COLUMNS, predictions_csv
from planner.validation.scores.left_out import answers_without_own_source
from planner.validation.scores.summary import score, worst
from planner.validation.table import Run, read_runs
from planner.validation.unsaid import Unsaid
from tests.validation.sample_runs import SMALL, as_csv, configuration

HEADER = "id,predicted_step_time_s,predicted_step_time_low_s,predicted_step_time_high_s,predicted_peak_mem_gb,"
HEADER += "predicted_peak_mem_low_gb,predicted_peak_mem_high_gb,verdict,note"


def answered(**cells: str) -> Answer:
    found = answer(configuration(**cells))
    assert isinstance(found, Answer), found
    return found


def read(tmp_path: Path, text: str) -> tuple[Run, ...]:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    return read_runs(path).runs


def test_every_row_has_its_line(tmp_path: Path) -> None:
    rows = [
        {"id": "a", **SMALL},
        {"id": "b", **SMALL, "precision": "mxfp8"},
        {"id": "c", **SMALL, "hidden": "-1"},
        {"id": "d", **SMALL, "tp": "4", "pp": "1", "kv_heads": "2"},
        {"id": "e", **SMALL},
    ]
    runs = read(tmp_path, as_csv(rows))
    lines = predictions_csv(runs, answer_all(run.configuration for run in runs)).splitlines()
    assert lines[0] == HEADER == ",".join(COLUMNS)
    assert [line.partition(",")[0] for line in lines[1:]] == list("abcde")
    prediction = answered().prediction
    cells = lines[1].split(",")
    assert float(cells[1]) == pytest.approx(prediction.step_time_s, rel=1e-5)
    assert float(cells[4]) == pytest.approx(prediction.peak_memory_bytes / GIB, rel=1e-5)
    assert cells[7] == "FITS"
    assert lines[2] == "b,,,,,,,,arithmetic in 8 or 4 bits has no price yet (precision = mxfp8)"
    assert lines[3] == "c,,,,,,,,\"hidden is '-1', but must be at least 1\""
    assert lines[4].startswith('d,,,,,,,,"tp = 4 does not divide num_key_value_heads = 2')
    assert lines[5].partition(",")[2] == lines[1].partition(",")[2]


def test_rows_of_another_length_stay_in_their_place(tmp_path: Path) -> None:
    text = as_csv([{"id": "a", **SMALL}])
    runs = read(tmp_path, text + "b,1,2\n")
    assert isinstance(runs[1].configuration, Unsaid)
    assert runs[1].configuration.note == "the row has 3 cells, but the file 24 columns"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "column id, framework"),
        ("id,layers\nx,1\n", "column framework, hidden"),
        (as_csv([{"id": "a", **SMALL}]).splitlines()[0] + "\n", "has columns, but no rows"),
        (as_csv([{"id": "a", **SMALL}]).replace("id,framework", "id,id,framework"), "column 'id' stands there twice"),
        ('id,"framework\nx', "is not CSV"),
        ("\0", "is a binary file"),
    ],
)
def test_a_file_that_is_no_table_is_one_error(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(BadInputError, match=sentence):
        read(tmp_path, text)


def test_memory_is_that_of_the_counter_and_the_rank() -> None:
    """The last stage holds the logits and no more than one micro-batch, the first one two and the embedding."""
    prediction = answered().prediction
    first, last = (stage.peak_bytes for stage in prediction.stages)
    assert first != last
    worst_peak = counted_peak(prediction, MemoryCounter.ALLOCATED, MemoryRank.WORST)
    last_peak = counted_peak(prediction, MemoryCounter.ALLOCATED, MemoryRank.LAST)
    assert worst_peak is not None
    assert last_peak is not None
    assert (worst_peak.bytes, last_peak.bytes) == (max(first, last), last)
    shown = counted_peak(prediction, MemoryCounter.NVIDIA_SMI, MemoryRank.WORST)
    assert shown is not None
    # Slack of the allocator, and 4.8 GiB of context and communication library.
    assert shown.bytes == pytest.approx(1.14 * worst_peak.bytes + 4.8 * GIB, abs=2)
    assert counted_peak(prediction, MemoryCounter.RESERVED, MemoryRank.WORST) is None
    without = answered(memory_counter="reserved")
    assert without.peak is None
    assert without.note == "memory as reserved counts it has no model yet"


def measured_run(run_id: str, cells: dict[str, str], **results: object) -> Run:
    return Run(run_id, configuration(**cells), Measured.model_validate(results))


def test_without_its_own_source_a_stack_is_partly_generic() -> None:
    """vTrain's single node alone shows the host time of Megatron-DeepSpeed, no source alone that of Megatron-Core."""
    runs = [
        Run("dgxc-1", configuration(), Measured()),
        Run("alpa-intra-1", configuration(framework="Alpa"), Measured()),
    ]
    usual = answer_all(run.configuration for run in runs)
    left = answers_without_own_source(runs, usual)
    assert left[0] is usual[0]
    assert isinstance(left[1], Answer)
    assert isinstance(usual[1], Answer)
    assert usual[1].stack.grad_bytes_per_param == 2
    assert left[1].stack.grad_bytes_per_param == 4


def test_scores_of_a_table() -> None:
    """Five runs of one source, of which one has no price; measured twice the prediction, so off by half."""
    time_s = answered().prediction.step_time_s
    runs = [measured_run("s-1", {}, step_time_s=2 * time_s, use_time=True) for _ in range(4)]
    runs.append(measured_run("s-1", {"precision": "fp8"}, step_time_s=1.0, use_time=True, outcome="oom"))
    runs.append(Run("s-2", Unsaid("r", "n"), Measured()))
    answers = answer_all(run.configuration for run in runs)
    found = score(runs, answers)
    assert (found.time.num_answered, found.time.num_rows) == (4, 5)
    assert found.time.mean is not None
    assert found.time.mean.median_frac == pytest.approx(0.5)
    assert found.time.mean.coverage_frac == 0
    assert found.time_answered.num_rows == 4
    assert found.baseline.num_answered == 5
    assert (found.failed.num_rows, found.failed.num_answered) == (1, 0)
    assert found.ran.verdicts == {"FITS": 4, "TIGHT": 0, "DOES_NOT_FIT": 0}
    assert found.unanswered == {"arithmetic in 8 or 4 bits": 1, "r": 1}
    assert [row.id for row in worst(found.time.rows, 2)] == ["s-1", "s-1"]
    assert found.time.needed_half_width_frac is None  # four answered rows are too few


def test_memory_is_scored_by_counter() -> None:
    """Five peaks of nine tenths of what is predicted: +11.1 %."""
    peak_gb = 0.9 * answered().prediction.peak_memory_bytes / GIB
    runs = [
        measured_run("s-1", {"memory_counter": "allocated"}, peak_mem_gb=peak_gb, use_memory=True) for _ in range(5)
    ]
    runs.append(measured_run("t-1", {"memory_counter": "reserved"}, peak_mem_gb=1.0, use_memory=True))
    found = score(runs, answer_all(run.configuration for run in runs))
    allocated = found.memory[MemoryCounter.ALLOCATED]
    assert allocated.mean is not None
    assert allocated.mean.median_frac == pytest.approx(1 / 0.9 - 1)
    assert allocated.mean.coverage_frac == 1
    assert found.memory[MemoryCounter.RESERVED].by_source["t"].num_answered == 0
