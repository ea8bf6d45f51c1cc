"""Versions of the results: DVC stores their files, Git names them, Snakemake's records say which jobs made them."""
