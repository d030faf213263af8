"""The inputs of a campaign: which file number `index` of a seed is, so that any of them can be made again."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from tests.fuzz.byte_mutator import mutate_bytes
from tests.fuzz.formulas import FORMULAS
from tests.fuzz.samples import by_class, rejected_texts, samples, trimmed
from tests.fuzz.tree_mutator import mutate_tree, write

KEY_AT_FAULT = ".key="
"""Stands in the name of a saved input before `key_at_fault`."""
BYTES_FRAC = 0.25
"""Share of inputs that are mutated as bytes."""


@dataclass(frozen=True)
class Mutant:
    """One input."""

    kind: str
    """`bytes` or `tree`."""
    origin: str
    """The sample it was made from."""
    content: bytes
    key_at_fault: str = ""
    """The one key whose value was replaced, with its path, where nothing else was done."""


def mutant(seed: int, index: int) -> Mutant:
    """Input `index` of the campaign `seed`."""
    rng = random.Random(f"{seed}/{index}")
    if rng.random() < BYTES_FRAC:
        name = rng.choice(list(samples()))
        texts = [json.dumps(samples()[name], indent=2).encode(), *rejected_texts()]
        content = texts[0] if rng.random() < 0.8 else rng.choice(texts)
        return Mutant("bytes", name, mutate_bytes(rng, content, texts))
    architecture = rng.choice(list(by_class()))
    name = rng.choice(by_class()[architecture])
    data = samples()[name]
    tree = mutate_tree(rng, data if architecture in FORMULAS else trimmed(data))
    is_one = tree.is_local and len(set(tree.changed)) == 1
    return Mutant("tree", name, write(tree), ".".join(tree.changed[0]) if is_one else "")
