"""Tables of the studies: every digit as a data frame, and LaTeX for print."""
