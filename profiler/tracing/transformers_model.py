"""Builds the class that a Hugging Face config names, on the meta device: exact shapes, no memory, no values.

Only classes of the installed transformers are built. Code that a config points to elsewhere is never fetched or run.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib.metadata
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from costmodel.errors import BadInputError, MissingError
from costmodel.spec.shown import shown
from profiler.tracing.class_defaults import SIZES, refuse_filled_experts, refuse_filled_sizes
from profiler.tracing.expert_keys import refuse_dense
from profiler.tracing.failures import CODE_ERRORS, in_words

MAX_LAYERS = 1000
MAX_NUMBER = 2**24
"""Of any other size in a config that is built: far above any width, vocabulary or length."""
MAX_TENSOR_CALLS = 2_000_000
"""Calls into torch while a class is built."""
COUNTS_LAYERS = re.compile(r"(?:^|[._])(?:layers?|blocks?|depths?)$", re.IGNORECASE)
"""The end of a path to a number of layers."""
NO_SIZE = re.compile(r"theta|base|_id$|seed|version", re.IGNORECASE)
"""Paths to numbers that make nothing larger."""
NOT_OF_SIZES = frozenset(
    {
        "quantization_config",
        "auto_map",
        "attn_implementation",
        "_attn_implementation",
        "experts_implementation",
        "_experts_implementation",
        "use_kernels",
        "trust_remote_code",
    }
)
"""Keys that say how a model is stored or run, not what it is made of; some of them name code to be fetched."""
NEEDED_PACKAGE = re.compile(r"requires the (\S+) library but it was not found")
"""In what transformers raises where a class needs a package that is not installed."""
ATTENTION = "recorded"
"""Name of the attention that is recorded, in the registry of transformers."""


def build(config: dict[str, Any], where: str, dtype: torch.dtype = torch.bfloat16) -> nn.Module:
    """The model on the meta device, its attention left to `ATTENTION` where the class allows it.

    Raises BadInputError for a class that transformers has not, a config that the class does not take, sizes that the
    config lacks, and sizes that no one trains; MissingError where the class needs a package that is not installed.
    """
    with _offline():
        name = class_name(config, where)
        kind = _class(name)
        if kind is None:
            raise BadInputError(_no_such_class(config, name, where))
        sizes = _sizes_only(config)
        _refuse_absurd_sizes(sizes, kind.config_class, where)
        with _building(name, where):
            settings = kind.config_class.from_dict(sizes)
        refuse_filled_sizes(settings, sizes, where)
        with _building(name, where), torch.device("meta"), _Bounded():
            model = _from_config(kind, sizes, dtype)
        refuse_filled_experts(model, settings, sizes, where)
        refuse_dense(model, settings, sizes, where)
        return model


def class_name(config: dict[str, Any], where: str) -> str:
    """The class that the config names, or the causal language model that transformers has for its model_type."""
    architectures = config.get("architectures")
    if isinstance(architectures, list) and architectures and isinstance(architectures[0], str):
        return architectures[0]
    from transformers.models.auto import modeling_auto

    model_type = config.get("model_type")
    found = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(model_type) if isinstance(model_type, str) else None
    if isinstance(found, str):
        return found
    tables = [
        table for name, table in vars(modeling_auto).items() if name.startswith("MODEL_") and name.endswith("_NAMES")
    ]
    known = [table.get(model_type) for table in tables] if isinstance(model_type, str) else []
    offers = dict.fromkeys(found for found in known if isinstance(found, str))
    several = f", such as {' or '.join(list(offers)[:3])}" if offers else ""
    raise BadInputError(
        f"{where}: architectures is missing, and transformers has no causal language model for model_type "
        f"{shown(model_type)}; add the class that the config is for as a list under architectures{several}, or give "
        "the model as module:factory"
    )


def require_transformers(where: str) -> None:
    """Raises MissingError where transformers cannot be imported."""
    try:
        import transformers  # noqa: F401
    except ImportError:
        raise MissingError(
            f"{where}: no family reads its architecture, and tracing it needs transformers; "
            "get it with `pip install 'transformers>=5.24,<6'`"
        ) from None


def _class(name: str) -> Any:
    """The model class of that name; None where there is none, or only a base class without a config."""
    import transformers

    try:
        kind = getattr(transformers, name, None)
    except (ImportError, RuntimeError):  # a class whose own file needs a package that is not here
        return None
    if not isinstance(kind, type) or not issubclass(kind, transformers.PreTrainedModel):
        return None
    return None if kind.config_class is None else kind


def _from_config(kind: Any, sizes: dict[str, Any], dtype: torch.dtype) -> nn.Module:
    """The model; a class that has its attention of its own, not out of the registry, keeps it."""
    try:
        return _with_attention(kind, sizes, dtype, ATTENTION)
    except ValueError as error:  # transformers knows that the class writes its attention out
        if ATTENTION not in str(error):
            raise
    except KeyError as error:  # the class looks in a table of its own, as Falcon and GPT-Neo do
        if error.args != (ATTENTION,):
            raise
    return _with_attention(kind, sizes, dtype, None)


def _with_attention(kind: Any, sizes: dict[str, Any], dtype: torch.dtype, attention: str | None) -> nn.Module:
    """The model with the attention of that name; None means the one that the class prefers."""
    # The config takes down the name of the attention, for its towers too, so each try has one of its own.
    settings = kind.config_class.from_dict(sizes)
    settings.use_cache = False
    model: nn.Module = kind._from_config(settings, dtype=dtype, attn_implementation=attention)
    return model


def _no_such_class(config: dict[str, Any], name: str, where: str) -> str:
    import transformers

    near = difflib.get_close_matches(name, dir(transformers), n=1, cutoff=0.9)
    meant = f"; did you mean {near[0]}?" if near and _class(near[0]) is not None else ""
    version = importlib.metadata.version("transformers")
    remote = ", and the code that auto_map names is never fetched or run" if config.get("auto_map") else ""
    return (
        f"{where}: architecture {name} is not known, transformers {version} has no such class to trace{remote}"
        f"{meant or '; give the model as module:factory, or name a class that transformers has in architectures'}"
    )


def _sizes_only(config: dict[str, Any]) -> dict[str, Any]:
    """The config without `NOT_OF_SIZES`, at every depth; sub-configs of towers have such keys too."""
    return {
        key: _sizes_only(value) if isinstance(value, dict) else value
        for key, value in config.items()
        if key not in NOT_OF_SIZES
    }


def _refuse_absurd_sizes(config: dict[str, Any], kind: Any, where: str) -> None:
    """Raise BadInputError for a number that would make a class loop or fill lists for ever.

    `kind` is the class of the config: a key that it has not is one of the file's own notes, unless it names a size.
    """
    known = {field.name for field in dataclasses.fields(kind)} | set(kind.attribute_map)
    for path, number in _numbers(config):
        first, last = path.partition(".")[0], path.rpartition(".")[2]
        if first not in known and not SIZES.fullmatch(last) and not COUNTS_LAYERS.search(last):
            continue
        limit = MAX_LAYERS if COUNTS_LAYERS.search(path) else MAX_NUMBER
        if abs(number) > limit and not NO_SIZE.search(path):
            raise BadInputError(f"{where}: {path} is {number}, but nothing above {limit:,} is traced; correct it")


def _numbers(value: object, path: str = "") -> Iterator[tuple[str, int]]:
    """Every whole number in a config, with the path to it; entries of a list have the path of the list."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item, path)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path, value


class _TooManyCallsError(Exception):
    """Building takes too long."""


class _Bounded(TorchFunctionMode):
    """Counts calls into torch, and ends what makes too many."""

    def __init__(self) -> None:
        super().__init__()
        self._num_calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._num_calls += 1
        if self._num_calls > MAX_TENSOR_CALLS:
            raise _TooManyCallsError
        return func(*args, **(kwargs or {}))


@contextmanager
def _building(name: str, where: str) -> Iterator[None]:
    """Turns what the code of transformers raises into one sentence."""
    try:
        yield
    except _TooManyCallsError:
        raise BadInputError(
            f"{where}: {name} of these sizes takes more than {MAX_TENSOR_CALLS:,} calls into torch to build; "
            "give a config with smaller counts"
        ) from None
    except (*CODE_ERRORS, _strict_config_error()) as error:
        if package := NEEDED_PACKAGE.search(str(error)):
            raise MissingError(
                f"{where}: {name} needs {package[1]}, which is not installed; get it with `pip install {package[1]}`"
            ) from None
        raise BadInputError(f"{where}: transformers cannot build {name} from it: {in_words(error)}") from None


def _strict_config_error() -> type[Exception]:
    """What transformers' configs raise for a value of the wrong type; it is of no kind that Python has."""
    from huggingface_hub.errors import StrictDataclassError

    return StrictDataclassError


@contextmanager
def _offline() -> Iterator[None]:
    """Keeps classes from fetching parts of themselves (a backbone, a kernel) from the hub."""
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
