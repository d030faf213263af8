"""Mutates a config as a tree of keys: the mistakes that people and scripts make, from plausible to hostile.

Most changes are plausible ones, so that many mutants are accepted and their counts can be compared.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.samples import by_class, samples

Path = tuple[str, ...]

SHAPES = re.compile(
    r"size|num_|dim|layer|head|expert|rank|width|depth|types|n_|d_|ratio|state|pattern|conv|tie|bias|norm"
)
"""Keys that probably say something about a shape."""
RAW = "raw JSON follows: "
"""Marks a text that stands in the file as it is, for what Python cannot write."""
RAW_VALUES = (
    "1e400", "-1e400", "NaN", "Infinity", "-0.0", "-0", "1E3", "9" * 30, "9" * 999, "9" * 1001, '"\\ud800"',
    '"\\udc00x"', "18446744073709551616", "9223372036854775807",
)  # fmt: skip
HOSTILE: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 7, 2**31, 2**63, 2**64, 10**18, 0.5, 64.0, -0.0, 1.5, True, False, None, "", "64", "true",
    "x" * 3000, "a\nb", "\x1b[31mred", "[bold]x[/bold]", "[/]", "\u202e", "é", [], [1], [None], [[1]], {}, {"a": 1},
    ["x"], [0, -1], [64.0], {"": None}, {"__float__": "Infinity"}, "silu", "gelu", "full_attention", "default",
)  # fmt: skip
KEYS_NO_ONE_KNOWS = ("", "a.b", "x\ny", "\x1b[31m", "expert\nx", "moe_\u202e", "é", "k" * 5000, "[bold]", "num_experts")


@dataclass
class Tree:
    """A config under mutation."""

    data: dict[str, Any]
    changed: list[Path] = field(default_factory=list)
    """Keys whose value was replaced."""
    is_local: bool = True
    """Whether all that was done is replacing values of keys other than those that name the class."""

    def paths(self) -> list[Path]:
        """Every key of every object, outer ones first."""
        return list(_paths(self.data, ()))

    def holder(self, path: Path) -> dict[str, Any]:
        """The object that holds the key at the end of `path`."""
        found = self.data
        for key in path[:-1]:
            found = found[key]
        return found

    def get(self, path: Path) -> Any:
        """The value at `path`."""
        return self.holder(path)[path[-1]]

    def put(self, path: Path, value: Any) -> None:
        """Replace the value at `path`."""
        self.holder(path)[path[-1]] = value
        self.changed.append(path)
        if path[-1] in ("architectures", "model_type"):
            self.is_local = False


def _paths(data: dict[str, Any], above: Path) -> list[Path]:
    found: list[Path] = []
    for key, value in data.items():
        found.append((*above, key))
        if isinstance(value, dict):
            found += _paths(value, (*above, key))
    return found


def mutate_tree(rng: random.Random, data: dict[str, Any]) -> Tree:
    """A copy of `data` with one to three mutations."""
    tree = Tree(copy.deepcopy(data))
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        mutations = PLAUSIBLE if rng.random() < 0.7 else RUDE
        rng.choice(mutations)(rng, tree)
    return tree


def write(tree: Tree) -> bytes:
    """The tree as a file."""
    text = json.dumps(tree.data, indent=2)
    if RAW in text:
        text = re.sub(rf'"{RAW}((?:[^"\\]|\\.)*)"', lambda match: json.loads(f'"{match[1]}"'), text)
    return text.encode()


def _pick(rng: random.Random, tree: Tree, kind: type | tuple[type, ...] = object) -> Path | None:
    """A key whose value is of `kind`; mostly one that looks like a shape."""
    paths = [path for path in tree.paths() if isinstance(tree.get(path), kind)]
    if kind is int:
        paths = [path for path in paths if not isinstance(tree.get(path), bool)]
    if rng.random() < 0.8:
        paths = [path for path in paths if SHAPES.search(path[-1])] or paths
    return rng.choice(paths) if paths else None


# Plausible ones


def _scale(rng: random.Random, tree: Tree) -> None:
    path = _pick(rng, tree, int)
    if path is not None:
        value = tree.get(path)
        tree.put(path, rng.choice((value * 2, value * 2, max(value // 2, 1), value * 3, value + 8, value * 4)))


def _nudge(rng: random.Random, tree: Tree) -> None:
    path = _pick(rng, tree, int)
    if path is not None:
        value = tree.get(path)
        tree.put(path, rng.choice((value + 1, value + 2, max(value - 1, 1), max(value // 3, 1), 1, 2, 64)))


def _toggle(rng: random.Random, tree: Tree) -> None:
    path = _pick(rng, tree, bool)
    if path is not None:
        tree.put(path, not tree.get(path))


def _delete(rng: random.Random, tree: Tree) -> None:
    path = _pick(rng, tree)
    if path is not None:
        del tree.holder(path)[path[-1]]
        tree.is_local = False


def _null(rng: random.Random, tree: Tree) -> None:
    path = _pick(rng, tree)
    if path is not None:
        tree.put(path, None)


def _few_layers(rng: random.Random, tree: Tree) -> None:
    """Another number of layers, with lists that go along or not."""
    paths = [path for path in tree.paths() if "layers" in path[-1] and type(tree.get(path)) is int]
    if not paths:
        return
    path = rng.choice(paths)
    old, new = tree.get(path), rng.choice((1, 2, 3, 5, 12, 200, 1000))
    tree.put(path, new)
    if rng.random() < 0.7 and old > 0:
        for name, value in tree.holder(path).items():
            if isinstance(value, list) and len(value) == old:
                tree.holder(path)[name] = (value * (new // old + 1))[:new]
                tree.is_local = False


def _sibling_class(rng: random.Random, tree: Tree) -> None:
    """A class whose name begins alike, e.g. BertForMaskedLM and BertModel."""
    names = tree.data.get("architectures")
    if isinstance(names, list) and names and isinstance(names[0], str):
        stem = re.split(r"For|Model|LMHead", names[0])[0]
        siblings = [name for name in by_class() if name.startswith(stem)]
        tree.data["architectures"] = [rng.choice(siblings or list(by_class()))]
        tree.is_local = False


def _known_key(rng: random.Random, tree: Tree) -> None:
    """A key as another sample of the same class has it."""
    names = tree.data.get("architectures")
    files = by_class().get(names[0], ()) if isinstance(names, list) and names and isinstance(names[0], str) else ()
    if files:
        other = samples()[rng.choice(files)]
        key = rng.choice(list(other))
        tree.data[key] = copy.deepcopy(other[key])
        tree.is_local = False


def _known_word(rng: random.Random, tree: Tree) -> None:
    """Another activation."""
    paths = [
        path for path in tree.paths() if re.search(r"act|activation", path[-1]) and isinstance(tree.get(path), str)
    ]
    if paths:
        words = (
            "silu",
            "gelu",
            "gelu_new",
            "relu",
            "relu2",
            "gelu_pytorch_tanh",
            "swish",
            "quick_gelu",
            "prelu",
            "xielu",
        )
        tree.put(rng.choice(paths), rng.choice(words))


# Rude ones


def _replace(rng: random.Random, tree: Tree) -> None:
    path = _pick(rng, tree)
    if path is not None:
        raw = RAW + rng.choice(RAW_VALUES)
        tree.put(path, raw if rng.random() < 0.2 else copy.deepcopy(rng.choice(HOSTILE)))


def _retype(rng: random.Random, tree: Tree) -> None:
    path = _pick(rng, tree)
    if path is not None:
        value = tree.get(path)
        forms: list[Callable[[], Any]] = [lambda: str(value), lambda: [value], lambda: {"value": value}]
        if type(value) in (int, float):
            forms += [lambda: float(value), lambda: -value, lambda: bool(value)]
        if isinstance(value, list) and value:
            forms += [lambda: value[0], lambda: dict.fromkeys(map(str, value), 1)]
        tree.put(path, rng.choice(forms)())


def _list(rng: random.Random, tree: Tree) -> None:
    """A list that is too short, too long, shuffled, odd in one place, or reversed."""
    path = _pick(rng, tree, list)
    if path is None:
        return
    value = list(tree.get(path))
    match rng.randrange(5):
        case 0:
            value = value[:-1]
        case 1:
            value = [*value, *value[-1:]]
        case 2:
            rng.shuffle(value)
        case 3 if value:
            value[rng.randrange(len(value))] = copy.deepcopy(rng.choice(HOSTILE))
        case _:
            value.reverse()
    tree.put(path, value)


def _swap(rng: random.Random, tree: Tree) -> None:
    one, other = _pick(rng, tree, int), _pick(rng, tree, int)
    if one is not None and other is not None:
        first, second = tree.get(one), tree.get(other)
        tree.put(one, second)
        tree.put(other, first)


def _foreign_key(rng: random.Random, tree: Tree) -> None:
    other = samples()[rng.choice(list(samples()))]
    key = rng.choice(list(other))
    tree.data[key] = copy.deepcopy(other[key])
    tree.is_local = False


def _unknown_key(rng: random.Random, tree: Tree) -> None:
    tree.data[rng.choice(KEYS_NO_ONE_KNOWS)] = copy.deepcopy(rng.choice(HOSTILE))
    tree.is_local = False


def _class(rng: random.Random, tree: Tree) -> None:
    known = rng.choice(list(by_class()))
    odd = ([], [None], [1], ["Nonsense"], [[known]], {known: 1}, None, ["Llama" * 1000], ["\x1b[31m\n"], 3, known)
    tree.data["architectures"] = [known] if rng.random() < 0.2 else copy.deepcopy(rng.choice(odd))
    tree.is_local = False


def _model_type(rng: random.Random, tree: Tree) -> None:
    if rng.random() < 0.5:
        tree.data.pop("architectures", None)
    tree.data["model_type"] = rng.choice(
        ("llama", "mixtral", "t5", "bert", "", None, 1, ["llama"], {}, "x" * 5000, "\n")
    )
    tree.is_local = False


def _nest(rng: random.Random, tree: Tree) -> None:
    """Keys moved into an object of their own, or out of one."""
    tree.is_local = False
    section = rng.choice(("text_config", "vision_config", "audio_config", "encoder", "llm_config"))
    inner = tree.data.get(section)
    if isinstance(inner, dict) and rng.random() < 0.5:
        del tree.data[section]
        tree.data.update(inner)
        return
    moved = [key for key in tree.data if key != "architectures" and rng.random() < 0.7]
    tree.data = {section: {key: tree.data[key] for key in moved}} | {
        key: value for key, value in tree.data.items() if key not in moved
    }


PLAUSIBLE: tuple[Callable[[random.Random, Tree], None], ...] = (
    _scale, _scale, _scale, _nudge, _toggle, _delete, _null, _few_layers, _sibling_class, _known_key, _known_word,
)  # fmt: skip
RUDE: tuple[Callable[[random.Random, Tree], None], ...] = (
    _replace, _replace, _replace, _retype, _list, _swap, _foreign_key, _unknown_key, _class, _model_type, _nest,
)  # fmt: skip
