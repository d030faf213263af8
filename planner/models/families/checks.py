"""Conditions beside the shapes that a class sets: its activation is known, and its rotary angles can be computed.

Each is a frozen value that is called with the config, so that a family is data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from costmodel.spec import Activation as Kept
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.parts import HEAD_DIM, HEAD_SPLIT
from planner.models.keys import Source, Word, origin
from planner.models.rope import check_rope

PARAMETER_FREE = (
    *("silu", "swish", "gelu", "gelu_new", "gelu_fast", "gelu_python", "gelu_pytorch_tanh", "gelu_python_tanh"),
    *("gelu_accurate", "gelu_10", "quick_gelu", "relu", "relu2", "relu6", "leaky_relu", "hardswish", "laplace"),
    *("linear", "mish", "sigmoid", "sqrtsoftplus", "tanh"),
)
"""Every activation of transformers (its `ACT2FN`) that learns nothing."""
WRITTEN_OUT = {
    **dict.fromkeys(("relu", "sigmoid", "tanh", "linear"), Kept.RESULT),
    **dict.fromkeys(("gelu_new", "gelu_accurate", "gelu_python_tanh"), Kept.GELU_NEW),
    **dict.fromkeys(("quick_gelu", "gelu_10"), Kept.QUICK_GELU),
    "gelu_fast": Kept.GELU_FAST,
    "gelu_python": Kept.GELU_PYTHON,
}
"""What those activations keep that are not one kernel with its input."""
PLACES = ("rope_parameters", "rope_scaling")
"""Objects that newer and older configs describe the rotation in."""
LAYER_TYPES = ("full_attention", "sliding_attention")
"""Kinds of blocks that may have a rotation each."""


@dataclass(frozen=True)
class Activation:
    """The function between the matrices of a feed-forward network, under `key`, has no parameters of its own.

    It is also the source of the field `activation` of a network.
    """

    key: str = "hidden_act"
    default: str = "silu"

    def __call__(self, config: Config) -> None:
        """Raises BadInputError for any other."""
        self.read(config, 0)

    def read(self, config: Config, layer: int) -> Kept:
        """How much it keeps; raises BadInputError for one that learns."""
        word = Word(self.key, default=self.default, null=self.default, known=PARAMETER_FREE).read(config, layer)
        return WRITTEN_OUT.get(word, Kept.KERNEL)


@dataclass(frozen=True)
class Number:
    """A number that sizes nothing, but that no model can be trained without: from `least` to `most`, where given."""

    key: str
    least: float
    most: float

    def __call__(self, config: Config) -> None:
        """Raises BadInputError for anything else."""
        value = config.data.get(self.key)
        if value is not None and (type(value) not in (int, float) or not self.least <= value <= self.most):
            config.fail(
                f"{config.place(self.key)} is {shown(value)}, but must be a number from {self.least:g} to {self.most:g}"
            )


def heads_divide(config: Config) -> None:
    """Some classes refuse heads that do not divide the width, although they take head_dim from its own key."""
    HEAD_SPLIT.read(config, 0)


@dataclass(frozen=True)
class Rotation:
    """Rotary embeddings turn pairs of dimensions: all of a head, or the share of them that `key` gives.

    Where each kind of block has an object of its own, each is checked.
    """

    head_dim: Source = HEAD_DIM
    key: str = "partial_rotary_factor"
    default: float = 1.0
    renamed: Mapping[str, str] = field(default_factory=dict)
    """What the class calls kinds of rotation that `rope` knows under another name."""

    def __call__(self, config: Config) -> None:
        """Raises BadInputError, naming the key, where the angles cannot be computed."""
        head_dim = self.head_dim.read(config, 0)
        for place, kind, values in self._rotations(config):
            share = self._share(config, values, f"{place}.{kind}")
            # The class rounds down: 0.4 of 80 dimensions are 32.
            num_rotated = int(head_dim * share)
            if num_rotated % 2 or not num_rotated:
                config.fail(
                    f"rotary position embeddings turn {num_rotated} of the {head_dim} dimensions of a head "
                    f"({origin(self.head_dim, config)} = {head_dim}, {config.place(self.key)} {share}), but need an "
                    "even number of them"
                )
            # A head's rotated part is checked as if it were a whole head.
            top = {key: value for key, value in config.data.items() if key not in (*PLACES, "partial_rotary_factor")}
            inner = {key: value for key, value in values.items() if key != "partial_rotary_factor"}
            for key in ("rope_type", "type"):
                if isinstance(inner.get(key), str):
                    inner[key] = self.renamed.get(inner[key], inner[key])
            check_rope({**top, place: inner}, num_rotated, config.where, config.place(""), kind)

    def _rotations(self, config: Config) -> list[tuple[str, str, Mapping[str, Any]]]:
        """The objects that describe a rotation, each with the key it stands under, and the key in that one, if any.

        One that is empty where there is none.
        """
        found: list[tuple[str, str, Mapping[str, Any]]] = []
        for place in PLACES:
            if config.has(place):
                values = config.section(place).data
                kinds = [kind for kind in LAYER_TYPES if values.get(kind)]
                found += [(place, f"{kind}.", config.section(place).section(kind).data) for kind in kinds]
                found += [] if kinds else [(place, "", values)]
        return found or [(PLACES[0], "", {})]

    def _share(self, config: Config, values: Mapping[str, Any], inside: str) -> float:
        """The share of a head that is turned; the object at the path `inside` may state it."""
        is_inside = "partial_rotary_factor" in values
        share: Any = values["partial_rotary_factor"] if is_inside else config.data.get(self.key)
        if share is None and (self.key not in config.data or self.default == 1):
            return self.default
        if type(share) not in (int, float) or not 0 < share <= 1:
            place = f"{inside}partial_rotary_factor" if is_inside else self.key
            config.fail(f"{config.place(place)} is {shown(share)}, but must be a number above 0 and at most 1")
        return float(share)
