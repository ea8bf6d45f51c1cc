"""The commands of the pipeline, one module each, which reads inputs, calls the package and writes outputs.

A command is a module with a ``Settings`` model and a function ``run(settings, *, ...)``. Its keyword-only parameters
are its input and output paths (``Path`` or ``list[Path]``) and, where it can use them, its number of threads (``int``).
``python -m fossil COMMAND`` makes command-line options of them.
``run`` may return facts about the run (a dictionary), which go into its record.
"""
