"""Layers that join several layers."""

LAYERS = {}
