"""YAML as plain values alone: no key twice, no aliases, no tags, and no deeper nest than a file of ours needs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from costmodel.errors import BadInputError

MAX_DEPTH = 16
MAX_BRACKETS = 500


def parse_yaml(content: str, where: str) -> Any:
    """The values of `content`; raises BadInputError with line and column where there is one."""
    try:
        _refuse_bombs(content, where)
        return yaml.load(content, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadInputError(f"{where}: not valid YAML{place}: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadInputError(f"{where}: not valid YAML: {str(error).splitlines()[0]}") from None


def parse_shipped(content: str) -> Any:
    """The values of a file of this package, which a test holds to the rules above; ten times as fast with libyaml."""
    return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


class _StrictLoader(yaml.SafeLoader):
    """Plain values alone, and no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value[:60]!r} stands twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _refuse_bombs(content: str, where: str) -> None:
    """Aliases can stand for a text far larger than the file, and deep nesting takes quadratic time to parse."""
    if content.count("[") + content.count("{") > MAX_BRACKETS:
        raise BadInputError(f"{where}: has more than {MAX_BRACKETS} brackets, which no cluster needs")
    depth = 0
    for event in yaml.parse(content, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise BadInputError(f"{where}: YAML aliases (*name) are not read here; write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise BadInputError(f"{where}: is nested more than {MAX_DEPTH} levels deep, but a cluster needs 4")
