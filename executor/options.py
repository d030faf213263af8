"""What a run can be asked for in numbers. No import of torch: the command line states the defaults in its help."""

from __future__ import annotations

import math

from costmodel.errors import BadInputError

DEFAULT_LR = 3e-4
MAX_STEPS = 10**9
MAX_SEED = 2**63 - 1


def check_numbers(steps: int, seed: int, lr: float) -> None:
    """Raises BadInputError for a number of steps, a seed or a learning rate that cannot be."""
    if not 1 <= steps <= MAX_STEPS:
        raise BadInputError(f"--steps is {steps}, but must be a whole number from 1 to {MAX_STEPS}")
    if not 0 <= seed <= MAX_SEED:
        raise BadInputError(f"--seed is {seed}, but must be a whole number from 0 to {MAX_SEED}")
    if not (math.isfinite(lr) and lr > 0):
        raise BadInputError(f"--lr is {lr:g}, but must be above 0 and finite")
