"""Sizes models by tracing them, without a GPU and without memory for their weights."""

from profiler.tracing.config_model import trace_config

__all__ = ["trace_config"]
