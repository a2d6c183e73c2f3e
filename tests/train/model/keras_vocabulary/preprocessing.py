"""Layers that prepare values."""

LAYERS = {}
