. "$LIB"
export COLUMNS=1000
rm -rf etc; mkdir -p etc/d/sub etc/plugins; touch etc/plugins/gpu_nvml.so etc/plain
conf() {
  printf '%s\n' ClusterName=c1 GresTypes=gpu TaskPlugin=task/cgroup SelectType=select/cons_tres HealthCheckProgram=/bin/true \
    HealthCheckInterval=300 PrologEpilogTimeout=100 PrologFlags=Alloc "PluginDir=$PWD/etc/plugins" \
    'NodeName=n[1-8] Gres=gpu:h100:8' "$@" >etc/slurm.conf
  rm -rf etc/gres.conf
  echo AutoDetect=nvml >etc/gres.conf
  echo ConstrainDevices=yes >etc/cgroup.conf
}
doctor() {
  expect_exit "$1" "$GPUREADY" slurm doctor --conf "$PWD/etc/slurm.conf" --node n1 --replay "$MACHINES/base-hgx-h100x8/machine.json"
  expect_in "$2" "$out"
}
conf Prolog=/bin/true
doctor 0 "Slurm's configuration fits the GPUs of n1."
# Hooks that slurmd cannot start.
for hook in "nosuch.sh:etc/nosuch.sh does not exist" "/etc:/etc is a folder" "$PWD/none/*:matches no file" \
  "$PWD/etc/plain:is not executable" "$PWD/etc/d/*:etc/d/sub, which is a folder"; do
  conf "Prolog=${hook%%:*}"
  doctor 1 "${hook#*:}"
  expect_in "1 error, 0 warnings." "$out"
done
conf Prolog=/nonexistent/a Prolog=/bin/true
doctor 1 "/nonexistent/a does not exist"
conf 'NodeName=n1 Gres=gpu:h100:4'
doctor 1 slurm-node-listed-twice
conf; sed -i s/h100/a100/ etc/slurm.conf
doctor 1 slurm-gres-type-not-detected
conf; echo "Name=gpu Type=h100 Count=4" >etc/gres.conf
doctor 1 slurm-gres-without-files
# What gres.conf is, if it is not a file; what cannot be read could say anything.
conf; rm etc/gres.conf; mkdir etc/gres.conf
doctor 1 "it is not a regular file"
conf; rm etc/gres.conf; mkfifo etc/gres.conf
doctor 1 "it is not a regular file"
for file in slurm gres cgroup; do
  conf
  echo "Include none.conf" >>etc/$file.conf
  doctor 4 "$PWD/etc/none.conf: No such file or directory, included by $PWD/etc/$file.conf:"
done
conf "Include etc_%c.conf"
echo "Prolog=/bin/true" >etc/etc_c1.conf
doctor 0 "fits the GPUs of n1"
# What this user may not look into is not known to be missing.
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups test -x "$GPUREADY" -a -r "$PWD/etc/slurm.conf"; then
  hidden=$(mktemp -d /tmp/gpuready-hidden-XXXXXX)
  trap 'rm -rf "$hidden"' EXIT
  for hook in "$hidden/prolog" "$hidden/*"; do
    conf "Prolog=$hook"
    expect_exit 4 setpriv --reuid 65534 --clear-groups "$GPUREADY" slurm doctor --conf "$PWD/etc/slurm.conf" --node n1 \
      --replay "$MACHINES/base-hgx-h100x8/machine.json"
    expect_in "$hidden: permission denied" "$out"
  done
fi
