"""FOSSIL: sample weights for learning from few, imbalanced and augmented samples."""

__version__ = "0.1.0"
