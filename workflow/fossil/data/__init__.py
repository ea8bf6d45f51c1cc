"""Data sets: what is downloaded, drawn or generated, and how it is divided."""
