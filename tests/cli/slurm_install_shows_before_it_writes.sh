. "$LIB"
export COLUMNS=1000 # paths of the build are long
rm -rf etc; mkdir etc
echo "ClusterName=c" >etc/slurm.conf
install() { expect_exit "$1" "$GPUREADY" slurm install --conf "$PWD/etc/slurm.conf" "${@:2}"; }
install 0
expect_in "HealthCheckProgram=$PWD/etc/gpuready/health" "$out"
[ "$(ls etc)" = slurm.conf ] && [ "$(cat etc/slurm.conf)" = "ClusterName=c" ] || die "it was written"
install 0 --write --interval 2m
grep -qx "HealthCheckInterval=120" etc/slurm.conf || die "$(cat etc/slurm.conf)"
expect_in "slurm health" "$(cat etc/gpuready/health)"
expect_exit 0 env -i SLURMD_NODENAME=n1 PWD=/ etc/gpuready/epilog
sed -i '/^Epilog=/d' etc/slurm.conf
# Its owner and mode stay; only root can give a file to another user.
chmod 640 etc/slurm.conf
[ "$(id -u)" != 0 ] || chown 1234:2345 etc/slurm.conf
labelled=$(python3 -c 'import os; os.setxattr("etc/slurm.conf", "user.a", b"b"); print("yes")' 2>/dev/null || true)
facts=$(stat -c '%u %g %a' etc/slurm.conf)
install 0 --write
grep -q "^Epilog=" etc/slurm.conf || die "$(cat etc/slurm.conf)"
[ "$(stat -c '%u %g %a' etc/slurm.conf)" = "$facts" ] || die "$facts became $(stat -c '%u %g %a' etc/slurm.conf)"
[ -z "$labelled" ] || [ "$(python3 -c 'import os; print(os.getxattr("etc/slurm.conf", "user.a").decode())')" = b ] || die "an attribute is lost"
before=$(cat etc/slurm.conf)
install 0 --write
[ "$(cat etc/slurm.conf)" = "$before" ] || die "written twice: $(cat etc/slurm.conf)"
printf 'ClusterName=c\nHealthCheckProgram=/usr/sbin/nhc\nHealthCheckInterval=60\n' >etc/slurm.conf
install 1 --write
expect_in "/usr/sbin/nhc; $PWD/etc/gpuready/health" "$out"
[ "$(grep -c HealthCheckProgram etc/slurm.conf)" = 1 ] || die "$(cat etc/slurm.conf)"
# Slurm cannot read such a path: nothing is written.
for folder in "a b" "a'b" 'a"b'; do
  rm -rf "$folder"; mkdir "$folder"
  echo "ClusterName=c" >"$folder/slurm.conf"
  expect_exit 2 "$GPUREADY" slurm install --conf "$PWD/$folder/slurm.conf" --write
  expect_in "name another folder for the scripts by --folder" "$err"
  [ "$(ls "$folder")" = slurm.conf ] && [ "$(cat "$folder/slurm.conf")" = "ClusterName=c" ] || die "it was written"
done
expect_exit 0 "$GPUREADY" slurm install --conf "$PWD/a b/slurm.conf" --folder "$PWD/hooks" --write
expect_exit 2 "$GPUREADY" slurm doctor --conf "$PWD/none" --node n1
expect_exit 1 "$GPUREADY" slurm doctor --conf "$PWD/etc/slurm.conf" --node n1 --replay "$MACHINES/base-h100x1/machine.json"
expect_in "slurm.conf does not know GPUs" "$out"
