"""Versions of the results: DVC stores the files, Git keeps pointers to them and a record, Snakemake plans on."""
