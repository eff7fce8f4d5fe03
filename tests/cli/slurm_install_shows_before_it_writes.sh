. "$LIB"
export COLUMNS=1000 # paths of the build are long
rm -rf etc; mkdir etc
echo "ClusterName=c" >etc/slurm.conf
install() { expect_exit "$1" "$GPUREADY" slurm install --conf "$PWD/etc/slurm.conf" "${@:2}"; }
install 0
expect_in "HealthCheckProgram=$PWD/etc/gpuready/health" "$out"
[ "$(ls etc)" = slurm.conf ] && [ "$(cat etc/slurm.conf)" = "ClusterName=c" ] || die "it was written"
install 0 --write --interval 120
grep -qx "HealthCheckInterval=120" etc/slurm.conf || die "$(cat etc/slurm.conf)"
expect_in "slurm health" "$(cat etc/gpuready/health)"
expect_exit 0 env -i SLURMD_NODENAME=n1 PWD=/ etc/gpuready/epilog
before=$(cat etc/slurm.conf)
install 0 --write
[ "$(cat etc/slurm.conf)" = "$before" ] || die "written twice: $(cat etc/slurm.conf)"
printf 'ClusterName=c\nHealthCheckProgram=/usr/sbin/nhc\nHealthCheckInterval=60\n' >etc/slurm.conf
install 1 --write
expect_in "/usr/sbin/nhc; $PWD/etc/gpuready/health" "$out"
[ "$(grep -c HealthCheckProgram etc/slurm.conf)" = 1 ] || die "$(cat etc/slurm.conf)"
expect_exit 2 "$GPUREADY" slurm doctor --conf "$PWD/none" --node n1
expect_exit 1 "$GPUREADY" slurm doctor --conf "$PWD/etc/slurm.conf" --node n1 --replay "$MACHINES/base-h100x1/machine.json"
expect_in "slurm.conf does not know GPUs" "$out"
