"""Commands that stand in for SLURM's: they run the scripts of sbatch on this machine, arrays and requeues included."""

from __future__ import annotations

from pathlib import Path

SBATCH = """\
id=$(($(cat last 2>/dev/null || echo 100) + 1)); echo $id > last
cp "$script" $id.sh
array=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' $id.sh)
for index in $(seq 0 ${array:-0}); do
  (
    name=$id; export SLURM_JOB_ID=$id
    if [ -n "$array" ]; then
      name=${id}_$index; export SLURM_JOB_ID=$id$index SLURM_ARRAY_JOB_ID=$id SLURM_ARRAY_TASK_ID=$index
    fi
    touch $name.requeue
    while [ -e $name.requeue ]; do rm $name.requeue; (cd "$home" && sh "$folder/$id.sh"); done
  ) > $id.log 2>&1 &
done
echo "Submitted batch job $id"
"""
SRUN = """\
while :; do case "$1" in --unbuffered) shift ;; --output | --error) shift 2 ;; *) break ;; esac; done
exec "$@"
"""


def write_commands(folder: Path) -> None:
    """Put the commands into a folder, in which they also keep their files: ID.sh is the script of a job or an array."""
    scripts = {
        "sbatch": f'script=$(realpath "$1") home=$PWD folder="{folder}"; cd "$folder"\n{SBATCH}',
        "srun": SRUN,
        "sacct": "echo 'JobID|State|NodeList'\n",  # knows nothing: that a job is over is seen from its result
        "scancel": "",
        "scontrol": f'touch "{folder}/$2.requeue"\n',
    }
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}")
        (folder / name).chmod(0o755)
