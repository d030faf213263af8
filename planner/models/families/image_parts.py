"""Parts that towers of vision share: how many tokens an image becomes, and the convolution that makes them."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Filter, FinalNorm, Norm, Part, Stem
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.parts import HIDDEN
from planner.models.family import One
from planner.models.keys import Computed, Size, part

MAX_SIDE = 2**16
"""Pixels along an edge."""
CHANNELS = Size("num_channels", default=3)


def sides(config: Config, key: str, default: int | None, *, square: bool) -> tuple[int, int]:
    """Height and width under `key`: one number for both or, unless `square`, a list of two."""
    value = config.data.get(key, default)
    if value is not None and key not in config.data:
        config.assume(f"{config.place(key)} is not given: {value:,}, the default of {config.architecture}.")
    pair = [value, value] if type(value) is int else value
    form = "a whole number" if square else "a whole number or a list of two"
    if (
        not isinstance(pair, list)
        or len(pair) != 2
        or (square and pair is value)
        or any(type(side) is not int or not 1 <= side <= MAX_SIDE for side in pair)
    ):
        state = shown(value) if key in config.data else "missing"
        config.fail(f"{config.place(key)} is {state}, but must be {form} from 1 to {MAX_SIDE}")
    return pair[0], pair[1]


def patches(image: int | None, patch: int | None, *, square: bool = False) -> Computed:
    """Number of patches of an image of image_size; `image` and `patch` are the class's default sizes."""

    def count(config: Config, _: int) -> int:
        height, width = sides(config, "image_size", image, square=square)
        patch_height, patch_width = sides(config, "patch_size", patch, square=square)
        found = (height // patch_height) * (width // patch_width)
        if not found:
            config.fail(
                f"{config.place('patch_size')} is {patch_height} x {patch_width}, but "
                f"{config.place('image_size')} {height} x {width} only; give a smaller patch_size"
            )
        return found

    return Computed(count)


def patch_filters(
    patch: int | None, *, bias: bool, square: bool = False, channels: Size = CHANNELS, hidden: Size = HIDDEN
) -> Computed:
    """The one convolution, as wide as a patch, that turns each patch into a token."""

    def read(config: Config, layer: int) -> tuple[Filter, ...]:
        height, width = sides(config, "patch_size", patch, square=square)
        return (
            Filter(fan_in=channels.read(config, layer) * height * width, out=hidden.read(config, layer), bias=bias),
        )

    return Computed(read)


def stem(where: Part, num_tokens: Any, filters: Any, **fields: Any) -> One:
    """The start of a tower; its table of positions serves `num_tokens` unless `fields` says otherwise."""
    return One(
        where,
        part(Stem, **{"hidden": HIDDEN, "filters": filters, "num_positions": num_tokens, **fields}),
        num_tokens=num_tokens,
    )


def last_norm(where: Part, num_tokens: Any, norm: Norm = Norm.LAYER, hidden: Size = HIDDEN) -> One:
    """The norm at the end of a tower."""
    return One(where, part(FinalNorm, hidden=hidden, norm=norm), num_tokens=num_tokens)
