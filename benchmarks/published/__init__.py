"""Runs that others measured and published, priced by the cost model, and what that says about its error."""
