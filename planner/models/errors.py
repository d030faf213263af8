"""The error for a class of models that no family reads."""

from __future__ import annotations

from costmodel.errors import BadInputError


class UnknownArchitectureError(BadInputError):
    """No family reads the class of a config, or that of a model inside it. Tracing it might."""
