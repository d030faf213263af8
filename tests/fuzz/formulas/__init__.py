"""Parameter counts of model classes as closed expressions over the keys of their configs.

They are written from the published designs and owe nothing to the families of the reader, which they check. Keys that
are missing take the defaults of the class; sizes that make the model are always there.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.formulas import decoders, encoders, experts, gpt, seq2seq, vision
from tests.fuzz.formulas.keys import Keys

FORMULAS: dict[str, Callable[[Keys], int]] = {
    **decoders.FORMULAS,
    **gpt.FORMULAS,
    **experts.FORMULAS,
    **encoders.FORMULAS,
    **seq2seq.FORMULAS,
    **vision.FORMULAS,
}
"""By class."""

__all__ = ["FORMULAS", "Keys"]
