"""Functions of the rules: the files that each job reads, and the settings and the command of its command."""
