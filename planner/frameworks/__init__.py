"""Training frameworks: for each, the plans it can express (`rules`) and how a plan is handed to it (`write`)."""
