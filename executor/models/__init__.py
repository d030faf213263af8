"""The models that the executor trains and the profiler times."""

from __future__ import annotations

from executor.models.hf import HFCausalLM
from executor.models.stage import Stage

__all__ = ["HFCausalLM", "Stage"]
