"""`--groups tp=8,dp=4,pp=2`: how a layout lies on the ranks, the first axis varying fastest."""

from __future__ import annotations

import math
import re

from costmodel.errors import BadInputError
from costmodel.spec.cluster import MAX_CLUSTER_DEVICES
from costmodel.spec.shown import shown
from planner.clusters.rings import Axis

ENTRY = re.compile(r"\s*([A-Za-z]\w*)\s*=\s*([0-9]{1,7})\s*", re.ASCII)


def read_groups(text: str) -> tuple[Axis, ...]:
    """The axes in the order of the text.

    Raises BadInputError that names the entry at fault.
    """
    axes: list[Axis] = []
    for entry in text.split(","):
        found = ENTRY.fullmatch(entry)
        if found is None or int(found[2]) < 1:
            raise BadInputError(
                f"--groups has the entry {shown(entry)}, but needs an axis and its degree, e.g. tp=8,dp=4,pp=2"
            )
        axis = Axis(found[1], int(found[2]))
        if axis.name in {other.name for other in axes}:
            raise BadInputError(f"--groups names {axis.name} twice; an axis has one degree")
        axes.append(axis)
    num_ranks = math.prod(axis.degree for axis in axes)
    if num_ranks > MAX_CLUSTER_DEVICES:
        raise BadInputError(f"--groups makes {num_ranks} ranks, but must make at most {MAX_CLUSTER_DEVICES}")
    return tuple(axes)
