# Helpers for runs on a cluster: what jobs ask for, and what a run that was killed left in the queue.

import uuid

from fossil.slurm import cancel_jobs_of

# GPUs of a job that trains or applies a model of images. Locally they are a limit only where a number of them is given.
GPUS = 0 if IMAGES.training.accelerator == "cpu" else 1

# The jobs of this run, submitted ones included: one that failed by an error of its own is not tried again in it.
os.environ.setdefault("FOSSIL_RUN", uuid.uuid4().hex)


def scaled(amount):
    """A resource that grows with each try: a job that met a limit gets more of it. Threads do not, since results depend on them."""
    return lambda wildcards, attempt: amount * attempt


def cancel_jobs_of_a_killed_run():
    """Cancel what was submitted to Slurm from this folder before: as this run holds the folder's lock, nobody waits for it."""
    if workflow.executor_plugin.name == "slurm" and workflow.execution_settings.lock:
        cancel_jobs_of(Path.cwd(), say=print)
