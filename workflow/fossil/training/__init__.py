"""Training: many small models at once, or one image model."""
