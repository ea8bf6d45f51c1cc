# Helpers on where jobs run: what they ask for, how fast they are submitted, what a run that was killed left in a queue.

from fossil.runtime.drivers import hold_lock, name_run
from fossil.runtime.slurm import cancel_jobs_of_killed_runs

# What a job that trains or applies a model of images asks for: on a cluster a GPU, in whatever form, and everywhere the
# device, which the jobs of one submission take in turn.
GPU = {"gpu": 0 if CONFIG.images.training.accelerator == "cpu" else 1, "device": 1}

# Jobs of this run take its name from here, submitted ones included: one that failed by an error of its own ends at once when it is tried again.
if workflow.is_main_process:
    name_run()


def scaled(mem_mb, runtime):
    """Memory in MB and time in minutes that grow with each try, unlike threads, on which results depend."""
    return {
        "mem_mb": lambda wildcards, attempt: mem_mb * attempt,
        "runtime": lambda wildcards, attempt: runtime * attempt,
    }


def is_submitted():
    """Whether jobs go to Slurm."""
    return workflow.executor_plugin.name == "slurm"


def start_beside_other_runs():
    """Let other runs in this folder know of this one, and cancel what a run that was killed left in Slurm's queue."""
    hold_lock(Path.cwd())
    if is_submitted():
        cancel_jobs_of_killed_runs(Path.cwd(), say=print)


def require_whole_arrays():
    """Stop where trainings that are ready may not all be submitted at once: the executor would forget the others of an array."""
    if not (is_submitted() and workflow.executor_settings.array_jobs):
        return
    # Snakemake's own limit of jobs a second would part them as well.
    workflow.scheduler.job_rate_limiter = None
    jobs, needed = workflow.resource_settings.nodes, len(list(workflow.dag.needrun_jobs()))
    if jobs < needed:
        raise WorkflowError(f"Arrays need jobs (--jobs) to be at least {needed}, the jobs of this run; it is {jobs}.")


def lift_limit_of_submissions():
    """Let jobs start at once where they run on this machine.

    Snakemake 9 submits at most 100 jobs a second, and for that looks through all jobs that are ready once a second for
    every job that has ended: after a hundred trainings this takes a third of a core. Another limit that was asked for,
    and one of submissions to a cluster, stays.
    """
    limit = workflow.scheduler.job_rate_limiter
    if workflow.local_exec and limit is not None and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
