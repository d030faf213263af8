"""Arithmetic of distributed training: what a plan costs in time and memory. Knows no torch and no other folder."""
