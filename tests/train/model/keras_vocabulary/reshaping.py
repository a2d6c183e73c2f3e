"""Layers that change shapes."""

LAYERS = {}
