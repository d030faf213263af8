"""The keys of a raw config as a formula sees them, with the defaults of the class."""

from __future__ import annotations

from typing import Any


class Keys:
    """A config; missing and null keys yield what the formula says."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __call__(self, *names: str, default: Any = None) -> Any:
        """The value under the first of `names` that has one, else `default`."""
        return next((self.data[name] for name in names if self.data.get(name) is not None), default)

    def flag(self, name: str, *, default: bool) -> bool:
        """Whether the switch `name` is on; null is off."""
        return bool(self.data.get(name, default))

    def missing_or_null(self, name: str, missing: Any, null: Any) -> Any:
        """The value under `name`; `missing` where there is no such key, `null` where it is null."""
        value = self.data.get(name, missing)
        return null if value is None else value

    def under(self, name: str) -> Keys:
        """The keys of the object `name`; none where it is missing."""
        return Keys(self.data.get(name) or {})
