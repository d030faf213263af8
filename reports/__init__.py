"""Draws plans, predictions and measurements as one HTML page."""
