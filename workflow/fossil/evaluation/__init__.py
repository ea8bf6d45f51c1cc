"""Metrics, regret and the comparison of methods."""
