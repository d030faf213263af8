"""Mutated cluster files and tool outputs through their readers; prints its seed, and the first finding with its input.

python -m tests.fuzz.machines --inputs 20000 --seed 7
"""

from __future__ import annotations

import argparse
import faulthandler
import secrets
import sys
import time
from pathlib import Path

from tests.fuzz.machines.readers import READERS, Finding, try_one

REGRESSIONS = Path(__file__).parent / "regressions"
DEADLINE_S = 20
"""For one input, which takes milliseconds; where it hangs, the traceback is printed and the run ends."""


def main() -> int:
    """`--inputs` mutants for each reader; 0 where nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.machines", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, help="for each reader")
    parser.add_argument("--seed", type=int, default=None, help="drawn where none is given")
    parser.add_argument("--reader", choices=READERS, help="this one alone")
    options = parser.parse_args()
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    for name in READERS if options.reader is None else [options.reader]:
        started_s, accepted = time.monotonic(), 0
        for index in range(options.inputs):
            faulthandler.dump_traceback_later(DEADLINE_S, exit=True)
            try:
                accepted += try_one(name, seed, index)
            except Finding as finding:
                REGRESSIONS.mkdir(exist_ok=True)
                saved = REGRESSIONS / f"{name}.seed{seed}_input{index}"
                saved.write_bytes(finding.content)
                _say(f"{name}, seed {seed}, input {index}, saved as {saved}:\n{finding}")
                return 1
            finally:
                faulthandler.cancel_dump_traceback_later()
        spent_s = time.monotonic() - started_s
        _say(
            f"{name}, seed {seed}: {options.inputs} inputs, {accepted} accepted, in {spent_s:.0f} s; nothing was found"
        )
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
