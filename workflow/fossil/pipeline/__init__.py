"""What the rules ask for: the files that each job reads, and the settings and the command of its stage."""
