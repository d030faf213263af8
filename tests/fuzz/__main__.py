"""The long run of `make fuzz`: prints its seed and counts, and exits with 1 after it has saved the first finding.

python -m tests.fuzz --inputs 20000 --seed 7
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from pathlib import Path

from tests.fuzz.campaign import Tally, run
from tests.fuzz.check import Built
from tests.fuzz.formulas import FORMULAS
from tests.fuzz.inputs import KEY_AT_FAULT
from tests.fuzz.samples import by_class

REGRESSIONS = Path(__file__).parent / "regressions"


def main() -> int:
    """Run a campaign as the arguments say; 0 where nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None, help="drawn where none is given")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--build-all", action="store_true", help="count by transformers where there is a formula too")
    options = parser.parse_args()
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    _say(f"seed {seed}: {options.inputs} inputs from {len(by_class())} classes, {options.workers} workers")
    _say(f"counted by formula: {len(FORMULAS.keys() & by_class().keys())} of these classes; the others by transformers")
    started_s = time.monotonic()
    tally = run(seed, options.inputs, options.workers, Built.ALL if options.build_all else Built.WITHOUT_FORMULA)
    _say(f"{sum(tally.by_outcome.values())} inputs in {time.monotonic() - started_s:.0f} s")
    _report(tally)
    if tally.failure is None:
        _say("nothing was found")
        return 0
    failure = tally.failure
    key = failure.mutant.key_at_fault
    saved = REGRESSIONS / f"seed{seed}_input{failure.index}{f'{KEY_AT_FAULT}{key}' if key else ''}.json"
    saved.write_bytes(failure.mutant.content)
    _say(f"input {failure.index}, from {failure.mutant.origin}, saved as {saved}:\n{failure.what}")
    return 1


def _report(tally: Tally) -> None:
    for kind in ("tree", "bytes"):
        accepted, refused = tally.by_outcome[kind, "accepted"], tally.by_outcome[kind, "refused"]
        _say(f"{kind} mutants: {accepted} accepted ({tally.accepted_frac(kind):.0%}), {refused} refused")
    for title, counts, most in (
        ("accepted, counted by", tally.counted, 40),
        ("accepted, by class", tally.classes, None),
        ("refused, by message", tally.refusals, 60),
    ):
        _say(f"{title}:")
        for subject, count in counts.most_common(most):
            _say(f"  {count:6}  {subject[:150]}")
        _say(f"  {len(counts)} kinds in all")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
