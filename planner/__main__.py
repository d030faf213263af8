"""`python -m planner` is the command `planner`."""

from __future__ import annotations

from planner.cli.main import main

if __name__ == "__main__":
    main()
