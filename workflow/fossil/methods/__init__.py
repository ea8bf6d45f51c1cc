"""Weighting methods, one file each."""
