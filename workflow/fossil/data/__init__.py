"""Data sets, downloaded, drawn or generated, and their divisions."""
