"""Whatever stands in a row, it is answered or says why not: no row stops the others."""

from __future__ import annotations

import math
import random
from pathlib import Path

from costmodel.errors import BadInputError
from planner.validation.answers import Answer, answer
from planner.validation.configuration import Configuration
from planner.validation.scores.baseline import baseline_s
from planner.validation.table import read_runs
from planner.validation.unsaid import Unsaid
from tests.validation.sample_runs import SMALL, as_csv, carried

NUM_ROWS = 3000
NUM_FILES = 300
CELLS = (
    *("", "0", "1", "2", "3", "7", "8", "64", "1000", "99999", "1000000", "-1", "nan", "inf", "1e5", "0.5", "9" * 40),
    *("all", "mla", "max", "last", "none", "full", "selective", "allocated", "true", "x", "ü", '"'),
    *("fp8", "fp16", "bf16", "fp32", "A100", "cpu", "GB200", "MI300X-192GB", "T4", "rtx-4090"),
    *("4x100 Gb/s per node", "0 Gb/s", "unknown", "?", "gpipe", "interleaved", "spiral", "tf32"),
    *("HF Trainer + DeepSpeed", "Galvatron", "V100-32GB", "H100-NVL"),
)


def test_mutated_rows_are_answered_or_say_why() -> None:
    chance = random.Random(5)
    rows, names = carried(), list(Configuration.model_fields)
    answered = 0
    for _ in range(NUM_ROWS):
        cells = dict(chance.choice((chance.choice(rows), SMALL)))
        for name in chance.sample(names, chance.randint(1, 3)):
            cells[name] = chance.choice((chance.choice(CELLS), chance.choice(rows)[name]))
        run = Configuration.from_cells(cells)
        if isinstance(run, Unsaid):
            assert run.note
            continue
        found = answer(run)
        assert isinstance(found, Answer) or found.note
        if isinstance(found, Answer):
            answered += 1
            assert math.isfinite(found.prediction.step_time_s)
            assert (baseline_s(run) or 0) >= 0
    assert answered > NUM_ROWS / 20


def test_mutated_files_are_read_or_refused_in_one_sentence(tmp_path: Path) -> None:
    chance = random.Random(6)
    text = as_csv([{"id": str(index), **SMALL} for index in range(3)])
    path = tmp_path / "runs.csv"
    refusals = []
    for _ in range(NUM_FILES):
        mutated = list(text)
        for _ in range(chance.randint(1, 5)):
            mutated[chance.randrange(len(mutated))] = chance.choice('",\n\r\0;x \ufeff')
        path.write_text("".join(mutated), encoding="utf-8", newline="")
        try:
            assert read_runs(path).runs
        except BadInputError as error:
            refusals.append(str(error))
    assert refusals
    assert not [sentence for sentence in refusals if "\n" in sentence]
