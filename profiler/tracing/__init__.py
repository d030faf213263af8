"""Sizes models by tracing them, without a GPU and without memory for their weights."""

from profiler.tracing.config_model import trace_config
from profiler.tracing.factory import Factory
from profiler.tracing.module_sequence import trace_factory

__all__ = ["Factory", "trace_config", "trace_factory"]
