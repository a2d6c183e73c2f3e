"""Layers against overfitting."""

LAYERS = {}
