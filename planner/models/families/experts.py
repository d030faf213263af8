"""Parts that families with experts share: routed and shared experts, dense first blocks, multi-token prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from costmodel.spec import Dense, FinalNorm, LayerRun, Mlp, Moe, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.parts import HEADS, HIDDEN, LAYERS, mlp
from planner.models.keys import (
    MAX_LAYERS,
    Choose,
    Computed,
    Key,
    KindSource,
    PerLayer,
    Size,
    Source,
    part,
    tokens,
    width,
)

EXPERT_FFN = width("moe_intermediate_size")
EXPERTS_PER_TOKEN = Size("num_experts_per_tok")
ROUTED = Size("n_routed_experts", aliases=("num_local_experts",))
ROUTED_OF_ANY_NAME = Size("n_routed_experts", aliases=("num_local_experts", "num_experts"))
LOCAL = Size("num_local_experts", aliases=("num_experts",))
NUM_EXPERTS = Size("num_experts", aliases=("num_local_experts",))
NUM_PREDICTED = Size("num_nextn_predict_layers", default=None, aliases=("num_mtp_layers",), least=0, most=MAX_LAYERS)
"""Tokens that are predicted beyond the next one."""
NUM_GROUPS = Size("n_group", default=None)


def experts(num_experts: Source, **changes: Any) -> KindSource:
    """Routed experts, gated and without biases."""
    return part(
        Moe,
        **{
            "hidden": HIDDEN,
            "num_experts": num_experts,
            "experts_per_token": EXPERTS_PER_TOKEN,
            "ffn_hidden": EXPERT_FFN,
            **changes,
        },
    )


@dataclass(frozen=True)
class IfAny:
    """A part that is there where `count` is above 0."""

    count: Size
    part: KindSource

    def read(self, config: Config, layer: int) -> Any:
        """The part, or None."""
        return self.part.read(config, layer) if self.count.read(config, layer) else None


@dataclass(frozen=True)
class Product:
    """The product of two sizes."""

    first: Size
    second: Size

    def read(self, config: Config, layer: int) -> int:
        """The product."""
        return int(self.first.read(config, layer) * self.second.read(config, layer))


def shared_experts(count: Size, **changes: Any) -> IfAny:
    """Experts that every token meets: one network, as wide as `count` routed experts."""
    return IfAny(count, part(Mlp, hidden=HIDDEN, ffn_hidden=Product(EXPERT_FFN, count), **changes))


def dense_first(first: Size) -> Computed:
    """Dense networks in the first blocks, as many as `first` says, and experts in the others."""
    return Computed(lambda config, layer: "dense" if layer < first.read(config, layer) else "sparse")


def mlp_layer_types(default: Source) -> PerLayer:
    """What each block has, by the list of that name; `default` where it is not given."""
    return PerLayer("mlp_layer_types", LAYERS, ("dense", "sparse"), default=default)


def dense_or_sparse(which: Source, sparse: KindSource, dense: KindSource | None = None) -> Choose:
    """The experts `sparse` or the network `dense`, for each block as `which` says."""
    return Choose(which, {"dense": mlp() if dense is None else dense, "sparse": sparse})


def window(name: str, default: int) -> Size:
    """Length of the window of a block that has one, so that null is refused."""

    def refuse(config: Config, layer: int) -> None:
        config.fail(f"{config.place(name)} is null, but block {layer} attends over a window; give its length in tokens")

    return tokens(name, default=default, null=Computed(refuse))


def listed_blocks(config: Config, key: str) -> frozenset[int]:
    """Numbers of blocks in the list under `key`, from 0; raises BadInputError for a number that no block has."""
    count, value = LAYERS.read(config, 0), config.data.get(key)
    if not isinstance(value, list):
        config.fail(f"{config.place(key)} is {shown(value)}, but must be a list of numbers of blocks")
    if len(value) > count:
        config.fail(
            f"{config.place(key)} has {len(value)} entries, but {config.place(LAYERS.name)} is {count}; "
            "give at most one for each"
        )
    for entry in value:
        if type(entry) is not int or not 0 <= entry < count:
            config.fail(
                f"{config.place(key)} holds {shown(entry)}, but {config.place(LAYERS.name)} is {count}, so that blocks "
                f"are numbered from 0 to {count - 1}"
            )
    return frozenset(value)


@dataclass(frozen=True)
class Prediction:
    """Modules of multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2).

    Each normalises the hidden state and the embedding of the next token, projects the two to one, and has a block and
    a final norm of its own; embedding and head are those of the model.
    """

    block: Source
    count: Size

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """The modules, if the config has the key."""
        count = self.count.read(config, 0)
        if count:
            hidden = HIDDEN.read(config, 0)
            # One norm of twice the width stands for the two norms before the projection.
            for layer in (
                Dense(hidden=2 * hidden, out=hidden, norm=Norm.RMS),
                self.block.read(config, 0),
                FinalNorm(hidden=hidden, norm=Norm.RMS),
            ):
                yield LayerRun(part=Part.BLOCKS, layer=layer, count=count)


def in_range(*keys: Key) -> Callable[[Config], None]:
    """A check that keys hold sizes where they are given, although nothing here may depend on them."""

    def check(config: Config) -> None:
        for key in keys:
            if config.has(key.name):
                key.read(config, 0)

    return check


def unread(key: str, *usual: Any) -> Callable[[Config], None]:
    """Says that the class builds the same whatever `key` holds, where that is none of the `usual` values."""

    def tell(config: Config) -> None:
        if config.has(key) and config.data[key] not in usual:
            config.assume(
                f"{config.place(key)} is {shown(config.data[key])}, but {config.architecture} does not read it."
            )

    return tell


def groups_divide(num_experts: Size, groups_key: Size = NUM_GROUPS) -> Callable[[Config], None]:
    """A check that the groups that experts are picked by are equal, and no more are picked than there are."""

    def check(config: Config) -> None:
        count, groups = num_experts.read(config, 0), groups_key.read(config, 0)
        picked = Size("topk_group", default=None).read(config, 0)
        place = config.place(groups_key.name)
        if groups is not None and count % groups:
            config.fail(
                f"{place} = {groups} does not divide {config.place(num_experts.name)} = {count}; give sizes that divide"
            )
        if groups is not None and picked is not None and picked > groups:
            config.fail(f"{config.place('topk_group')} is {picked}, but {place} is only {groups}; give at most that")

    return check


def kv_heads_divide(config: Config) -> None:
    """Of latent attention, where every head has keys of its own, although configs give their number."""
    heads, given = HEADS.read(config, 0), Size("num_key_value_heads", default=None).read(config, 0)
    if given is not None and heads % given:
        config.fail(
            f"{config.place('num_key_value_heads')} = {given} does not divide {config.place(HEADS.name)} = {heads}; "
            "give sizes that divide"
        )
