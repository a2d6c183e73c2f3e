"""Pooling."""

LAYERS = {}
