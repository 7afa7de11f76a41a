#!/usr/bin/env bash
#SBATCH --job-name=mmaudit
#SBATCH --gpus=1
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
# The GPU's bits against the model and against the kept baseline, as one Slurm job: sbatch --wait ci/slurm.sh
# MMAUDIT_RELEASE: a release with device code.
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-.}"
export MMAUDIT_ON=hardware
exec ci/mmaudit_ci.sh install verify baseline
