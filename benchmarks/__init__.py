"""What the project measures about itself: `python -m benchmarks` runs all of it."""
