"""The search: every mesh gets a cheap lower bound, the promising ones an exact stage cut and recompute choice."""
