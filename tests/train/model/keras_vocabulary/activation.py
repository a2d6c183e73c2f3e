"""Activations as layers."""

LAYERS = {}
