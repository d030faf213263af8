"""Reads the output of nccl-tests (and rccl-tests): every collective, layout and launcher prefix."""
