"""The design of the experiments: trainings and comparisons."""
