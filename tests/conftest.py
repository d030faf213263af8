"""For all tests: hypothesis judges what a function does, not how long it takes on a shared machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("planner", deadline=None)
settings.load_profile("planner")
