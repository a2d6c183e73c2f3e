"""Attention."""

LAYERS = {}
