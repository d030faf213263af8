"""Model families as data, one file for those that resemble each other, listed here once.

A file is loaded when the search for a class comes to it: loading all takes longer than the rest of `planner show`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from planner.models.families.variants import variants
from planner.models.family import Family

MODULES = (
    "llama",
    "qwen_moe",
    "deepseek",
    "mixtral",
    "gemma",
    "gpt_oss",
    "glm",
    "phi",
    "gpt2",
    "qwen_vl",
    "llama4_mm",
    "falcon",
    "gpt_neox",
    "t5",
    "bert",
    "nemotron_h",
    "gemma4",
    "decilm",
    "minicpm3",
    "windowed",
    "plain",
    "cohere",
    "mamba",
    "hybrid",
    "starcoder2",
    "opt",
    "olmo",
    "bloom",
    "bart",
    "whisper",
    "vit",
    "clip",
    "minimax",
    "mistral4",
    "dbrx",
    "llama4",
    "mimo",
    "kimi",
    "llava",
    "voxtral",
    "gemma_mm",
    "mllama",
    "qwen_audio",
    "sparse",
    "own_code",
    "chatglm",
    "mpt",
    "idefics",
    "internvl",
    "qwen_omni",
    "electra",
    "beit",
)
"""Those that people bring most come first. Where a config names no class, the first family of its model_type counts."""


def listed_families() -> Iterator[Family]:
    """Every family that is written down, in order."""
    for name in MODULES:
        yield from _of_module(name)


def families() -> Iterator[Family]:
    """Every family: those that are listed, then the variants of language models that follow from them."""
    listed = tuple(listed_families())
    yield from listed
    for family in listed:
        yield from variants(family)


def families_of_class(architecture: str) -> tuple[Family, ...]:
    """The families that read a class: none, one, or one for each model_type that it is used with."""
    for name in MODULES:
        every = (known for family in _of_module(name) for known in (family, *variants(family)))
        found = tuple(family for family in every if family.architecture == architecture)
        if found:
            return found
    return ()


def _of_module(name: str) -> tuple[Family, ...]:
    families: tuple[Family, ...] = import_module(f"{__name__}.{name}").FAMILIES
    return families
