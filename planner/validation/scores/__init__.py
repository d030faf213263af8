"""Scores: how far predictions are from what was measured, by source, so that none drowns the others."""
