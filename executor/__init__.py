"""Runs a Plan on torch.distributed and returns a Measurement."""
