"""Clusters: shipped presets of published figures, user files, and machines extended beyond what was profiled."""
