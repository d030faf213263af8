"""Reads what the drivers' tools say of a machine: `nvidia-smi topo -m` and `rocm-smi --showtopotype`."""
