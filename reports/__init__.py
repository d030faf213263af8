"""Draws plans, predictions and measurements as one self-contained HTML page; the entry is `reports.page.render`."""
