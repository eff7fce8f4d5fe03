#!/usr/bin/env bash
# `gpuready fleet slow --runner mpi` with a real MPI on one host: what mpirun takes for ssh starts the other process here.
# A program that exchanges messages replaces all_reduce_perf. Each node sends at a pace of its own, and one of twelve
# is slower. Run by hand: tests/fleet/slow.sh GPUREADY
# Debian's packages openmpi-bin and libopenmpi-dev are needed.
set -euo pipefail
gpuready=$(realpath "$1")
command -v mpicc >/dev/null || { echo "skipped: apt-get install openmpi-bin libopenmpi-dev"; exit 77; }
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
cat >exchange.c <<'EOF'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* 40 exchanges of 1 MiB with a pause after each; prints MB/s as all_reduce_perf prints its rate. */
static char out[1 << 20], in[1 << 20];
int main(int argc, char **argv) {
  const char *node = getenv("NODE"), *nvls = getenv("NCCL_NVLS_ENABLE");
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (node == NULL || nvls == NULL || strcmp(nvls, "0") != 0) return 1;
  const int pause_us = strcmp(node, "n7") == 0 ? 30000 : 20000;
  double start = 0;
  for (int i = -5; i < 40; ++i) {
    if (i == 0) start = MPI_Wtime();
    MPI_Sendrecv(out, sizeof out, MPI_BYTE, 1 - rank, 0, in, sizeof in, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    usleep(pause_us);
  }
  if (rank == 0) printf("# Avg bus bandwidth    : %.2f\n", 40 * (sizeof out / 1e6) / (MPI_Wtime() - start));
  return MPI_Finalize();
}
EOF
mpicc -O1 -o all_reduce_perf exchange.c
cat >agent <<'EOF'
#!/bin/sh
# As ssh: [OPTION...] NODE COMMAND...
while [ "${1#-}" != "$1" ]; do shift; done
export NODE=$1
shift
exec sh -c "$*"
EOF
chmod 755 agent
export PATH=$PWD:$PATH OMPI_MCA_plm_rsh_agent=$PWD/agent
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
code=0
"$gpuready" fleet slow --nodes 'n[1-12]' --runner mpi --results rates.txt --json=found.json || code=$?
[ $code -eq 1 ] || { echo "exit $code, not 1"; cat rates.txt; exit 1; }
python3 - <<'EOF'
import json
found = json.load(open("found.json"))["fleet"]
assert [(part["kind"], part["name"]) for part in found["slow"]] == [("node", "n7")], found["slow"]
assert not found["unknown"] and 0.6 < found["slow"][0]["share"] < 0.75, found
print("n7 is named after", found["rounds"], "rounds")
EOF
