"""A real Slurm of one node with GPUs in name only, on this machine, for as long as a test needs it.

Snakemake's executor takes SLURM_* out of its jobs' environment, so that the configuration has to lie where Slurm looks
by itself: in /etc/slurm. A configuration that is not from here is left alone, and the tests are skipped.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from tests.requirements import do_without, require_program

CONFIGURATION = Path("/etc/slurm")
# Held by the tests whose Slurm this is: those of another checkout on this machine wait for its end.
LOCK = Path("/run/lock/fossil-tests-slurm.lock")
SECONDS_FOR_OTHER_TESTS = 3600
HEAD = "# Written by FOSSIL's tests; they overwrite this file.\n"
NODE = "node"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
FILES = ("slurm.conf", "gres.conf", "cgroup.conf")
DAEMONS = ("slurmd", "slurmctld")
_T = TypeVar("_T")
# Nothing here may depend on how busy the machine is: what waits for an answer or an end waits long, and goes on at once
# when it comes. A job that is put back into the queue waits for as long as credentials last.
SLURM_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=cred_expire=40
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
ReturnToService=2
MaxArraySize=100
MinJobAge=86400
MessageTimeout=60
TCPTimeout=30
BatchStartTimeout=60
UnkillableStepTimeout=300
KillWait=60
MpiDefault=none
GresTypes=gpu
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=32000 Gres=gpu:2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes={node} Default=YES MaxTime=INFINITE State=UP GraceTime=60
PartitionName=gpu Nodes={node} MaxTime=INFINITE State=UP
PartitionName=urgent Nodes={node} MaxTime=INFINITE State=UP PriorityTier=10
"""
# Devices that exist and are no GPUs: Slurm counts them, and torch finds none.
GRES_CONF = "NodeName={node} Name=gpu File=/dev/null\nNodeName={node} Name=gpu File=/dev/zero\n"


@contextmanager
def one_node(folder: Path) -> Iterator[None]:
    """Start munge, the controller and the node's daemon, and end them afterwards.

    Parameters
    ----------
    folder : Path
        For the state and the logs of the daemons.
    """
    for program in PROGRAMS:
        require_program(program)
    if os.geteuid() != 0:
        do_without("starting Slurm takes the superuser")
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(LOCK, timeout=SECONDS_FOR_OTHER_TESTS):
        _require_no_other_slurm()
        munge_is_ours = not _is_alive("munged")
        try:
            _write_configuration(folder)
            _start(folder)
            yield
        finally:
            _end(*DAEMONS, *(["munged"] if munge_is_ours else []))
            for name in FILES:
                (CONFIGURATION / name).unlink(missing_ok=True)


def _require_no_other_slurm() -> None:
    found = [CONFIGURATION / name for name in FILES if (CONFIGURATION / name).exists()]
    others = [path for path in found if not path.read_text(errors="replace").startswith(HEAD)]
    # Daemons of an earlier test that was killed have left its configuration here.
    if others or (not found and any(map(_is_alive, DAEMONS))):
        do_without(f"a Slurm of this machine is here: {', '.join(map(str, others or DAEMONS))}")


def _write_configuration(folder: Path) -> None:
    host = os.uname().nodename.partition(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    CONFIGURATION.mkdir(exist_ok=True)
    values = {"host": host, "folder": folder, "node": NODE}
    (CONFIGURATION / "slurm.conf").write_text(HEAD + SLURM_CONF.format(**values))
    (CONFIGURATION / "gres.conf").write_text(HEAD + GRES_CONF.format(**values))


def _start(folder: Path) -> None:
    _end(*DAEMONS)
    if not _is_alive("munged"):
        _start_munge()
    run("slurmctld", "-c")
    run("slurmd", "-N", NODE, "-c")
    wait_until(lambda: "idle" in _node_state(), what=f"the node is idle; see {folder}")


def _start_munge() -> None:
    user = pwd.getpwnam("munge")
    key = Path("/etc/munge/munge.key")
    if not key.exists():
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        os.chown(key, user.pw_uid, user.pw_gid)
    for place in ("/run/munge", "/var/log/munge", "/var/lib/munge"):
        Path(place).mkdir(exist_ok=True)
        os.chown(place, user.pw_uid, user.pw_gid)
    run("runuser", "-u", "munge", "--", "munged", "--force")


def _end(*names: str) -> None:
    for name in names:
        subprocess.run(["pkill", "-KILL", "-x", name], check=False)
    wait_until(lambda: not any(map(_is_alive, names)), what=f"{', '.join(names)} have ended")


def _is_alive(name: str) -> bool:
    return subprocess.run(["pgrep", "-x", name], capture_output=True, check=False).returncode == 0


def _node_state() -> str:
    shown = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False)
    return shown.stdout


def run(*command: str) -> str:
    """Run a command that shall succeed; gives what it printed."""
    found = shutil.which(command[0])
    assert found is not None, command[0]
    result = subprocess.run(
        [found, *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert result.returncode == 0, f"{command}: {result.stdout}"
    return result.stdout


def jobs() -> list[dict[str, str]]:
    """What Slurm knows of each job that it has not forgotten, by the names that scontrol prints."""
    shown = run("scontrol", "--oneliner", "show", "job")
    return [dict(re.findall(r"(\S+?)=(.*?)(?= \S+?=|$)", line)) for line in shown.splitlines() if "JobId=" in line]


def queue(state: str, folder: Path, show: str = "%i") -> list[str]:
    """Numbers of the jobs in a state, such as RUNNING, that were submitted from a folder; or what else to show."""
    lines = run("squeue", "--array", "--noheader", "--states", state, "--format", f"%Z|{show}").splitlines()
    return [line.removeprefix(f"{folder}|") for line in lines if line.startswith(f"{folder}|")]


def wait_until(condition: Callable[[], _T], *, what: str, seconds: float = 400, pause: float = 0.2) -> _T:
    """Wait for what another process does; gives what was waited for."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited {seconds:g} s in vain: {what}"
        time.sleep(pause)
    return found
