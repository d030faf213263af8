"""Decisions and face of the program: models, clusters, search, frameworks, command line."""
