"""Lays a stage out on its ranks with PyTorch's own parts: one file for each axis of the mesh."""
