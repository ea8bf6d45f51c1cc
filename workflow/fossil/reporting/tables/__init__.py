"""Tables of the studies, one module a table: every digit as a data frame, and LaTeX for print."""
