"""Normalisations."""

LAYERS = {}
