"""The HTML template and the style sheet of the page, as package data."""
