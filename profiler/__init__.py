"""Measures devices, layers and links, and returns a Profile."""
