"""Models: shipped presets and Hugging Face configs, read into `ModelSpec`."""
