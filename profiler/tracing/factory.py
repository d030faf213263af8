"""Calls the user's own code, `module:factory`, and takes what it returns as layers in order.

The module is found as `python -m` finds it, with the current folder first. It is imported only because the user named
it on the command line; nothing else does.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import torch
from torch import nn

from costmodel.errors import BadInputError, PlannerError
from profiler.tracing.failures import a_kind, in_words
from profiler.tracing.recorder import TooManyCallsError

SHAPE_OF_LAYERS = (
    "an nn.Sequential, an nn.ModuleList, a list or tuple of modules, or a module whose attribute `layers` is one"
)


class Factory:
    """What `module:factory` names, imported."""

    def __init__(self, text: str) -> None:
        """Raises BadInputError, one sentence with the line of the user's code, where it cannot be imported."""
        module_name, _, attribute = text.partition(":")
        self.text = text
        where = f"factory {text}"
        if module_name.endswith(".py") or "/" in module_name or "\\" in module_name:
            dotted = module_name.removesuffix(".py").replace("\\", "/").strip("./").replace("/", ".")
            raise BadInputError(f"{where}: give the module as Python imports it, e.g. {dotted}:{attribute}")
        with users_code(where, f"importing {module_name}"):
            _first_in_path(os.getcwd())
            try:
                module: Any = importlib.import_module(module_name)
            except ModuleNotFoundError as error:
                if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
                    raise
                raise BadInputError(
                    f"{where}: there is no module {error.name} in the folder {os.getcwd()} nor where Python looks; run "
                    "planner in the folder that holds it, or name it in PYTHONPATH"
                ) from None
        with users_code(where, f"looking up {attribute} in {module_name}"):
            found = module
            for part in attribute.split("."):
                found = getattr(found, part)
        if not callable(found):
            raise BadInputError(f"{where}: {attribute} is {a_kind(found)}, but must be a function or class")
        self._build: Callable[[], Any] = found
        file = getattr(module, "__file__", None)
        self.source = Path(file) if file else None
        """File of the module, where it has one."""

    def layers(self) -> tuple[tuple[nn.Module, ...], Callable[[int, int], torch.Tensor] | None]:
        """The modules in order, on the meta device, and the maker of the input of the first one, where there is one.

        Raises BadInputError where the factory fails or returns something else.
        """
        where = f"factory {self.text}"
        with users_code(where, "building it"), torch.device("meta"):
            built = self._build()
            example = getattr(built, "example_input", None) if isinstance(built, nn.Module) else None
            parts = built if isinstance(built, list | tuple | nn.Sequential | nn.ModuleList) else _layers_of(built)
        if any(kind.__name__ == "PreTrainedModel" for kind in type(built).__mro__):
            raise BadInputError(
                f"{where}: returned {type(built).__name__}, a model of transformers; give its config.json instead"
            )
        if parts is None:
            raise BadInputError(f"{where}: returned {a_kind(built)}, but must return {SHAPE_OF_LAYERS}")
        layers = tuple(parts)
        for index, layer in enumerate(layers):
            if not isinstance(layer, nn.Module):
                raise BadInputError(f"{where}: layer {index} is {a_kind(layer)}, but must be an nn.Module")
        if example is not None and not callable(example):
            raise BadInputError(f"{where}: example_input is {a_kind(example)}, but must be a function")
        return layers, example


@contextmanager
def users_code(where: str, doing: str) -> Iterator[None]:
    """Turns whatever the user's code raises into one BadInputError with the file and line at fault.

    What it prints goes to stderr, since stdout is for answers.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (PlannerError, TooManyCallsError):
        raise
    except KeyboardInterrupt:
        raise
    # Anything else: the code is the user's, and what it raises is for the user to mend, whatever its kind.
    except BaseException as error:  # noqa: BLE001
        raise BadInputError(f"{where}: {doing} failed{_place(error)}: {in_words(error)}") from None


def _layers_of(built: object) -> Sequence[Any] | None:
    layers = getattr(built, "layers", None) if isinstance(built, nn.Module) else None
    return layers if isinstance(layers, list | tuple | nn.Sequential | nn.ModuleList) else None  # type: ignore[return-value]


def _place(error: BaseException) -> str:
    """Where the user's own code was, of which the last frame counts: below it are libraries."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" at {error.filename}:{error.lineno}"
    ours = Path(inspect.getfile(Factory)).parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        is_library = "site-packages" in file.parts or file.is_relative_to(_STANDARD_LIBRARY) or ours in file.parents
        if not is_library and not frame.filename.startswith("<"):
            return f" at {frame.filename}:{frame.lineno}"
    return ""


_STANDARD_LIBRARY = Path(os.__file__).parent


def _first_in_path(folder: str) -> None:
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
