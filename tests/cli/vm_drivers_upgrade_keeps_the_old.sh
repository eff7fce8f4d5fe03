. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
rm -rf ./* .lock
expect_exit 2 "$GPUREADY" vm drivers upgrade bundles --to 570.86.16
expect_in "bundles: this folder of bundles does not exist" "$err"
for version in 570.86.16 580.65.06; do make_stub_driver driver-$version $version; done
# The folder is made, and the first bundle is current at once.
expect_exit 0 "$GPUREADY" vm drivers upgrade bundles driver-570.86.16
[ "$(readlink bundles/current)" = 570.86.16 ] || die "$(ls -l bundles)"
# A newer one: added, compared, tested, switched; the old one stays.
expect_exit 0 "$GPUREADY" vm drivers upgrade bundles driver-580.65.06 --json -
[ "$(jq -r '.switched, .from, .diff.from_cuda, .diff.to_cuda, (.diff.removed | length)' <<<"$out" | xargs)" = \
  "true 570.86.16 12.8 13.0 0" ] || die "$out"
[ "$(readlink bundles/current)" = 580.65.06 ] || die "not switched"
expect_exit 0 "$GPUREADY" vm drivers verify bundles/570.86.16
expect_exit 0 "$GPUREADY" vm drivers list bundles
expect_in "580.65.06 for x86_64" "$out"
expect_in "; current" "$out"
expect_not_in "bundles/current:" "$out"
# The way back, and what it is made of goes on working.
expect_exit 0 "$GPUREADY" vm drivers upgrade bundles --to 570.86.16
[ "$(readlink bundles/current)" = 570.86.16 ] || die "not switched back"
expect_exit 0 "$GPUREADY" vm initrd bundles/current -o initrd --guest "$GPUREADY"
expect_in "driver 570.86.16" "$out"
# One that lacks a library: it stays beside, and is not current.
make_stub_driver poor 590.10.01
rm poor/lib64/libnvidia-encode*
expect_exit 1 "$GPUREADY" vm drivers upgrade bundles poor
expect_in "libnvidia-encode.so.1 is no longer there" "$out"
expect_in "bundles/590.10.01 was added and is not current" "$out"
[ "$(readlink bundles/current)" = 570.86.16 ] || die "switched all the same"
# One that is older serves less: it is refused as an upgrade.
make_stub_driver old 550.54.15
expect_exit 1 "$GPUREADY" vm drivers upgrade bundles old
expect_in "it implements CUDA 12.4, and guests have 12.8 now" "$out"
# A bundle whose bytes changed is refused, and the old one stays current.
echo x >>bundles/580.65.06/bin/nvidia-smi
expect_exit 1 "$GPUREADY" vm drivers upgrade bundles --to 580.65.06
expect_in "bin/nvidia-smi has" "$out"
# The user's own test decides as well, and is given the bundle.
printf '#!/bin/sh\necho "booted $1 without a GPU" >&2\nexit 3\n' >boot.sh && chmod +x boot.sh
make_stub_driver new 580.82.07
expect_exit 1 "$GPUREADY" vm drivers upgrade bundles new --test ./boot.sh
expect_in "exit code 3: booted bundles/580.82.07 without a GPU" "$out"
expect_exit 0 "$GPUREADY" vm drivers upgrade bundles --to 580.82.07 --test true
# Mistakes name what is wrong, and leave nothing.
before=$(ls -A bundles)
expect_exit 2 "$GPUREADY" vm drivers upgrade bundles new
expect_in "bundles/580.82.07 exists" "$err"
expect_exit 2 "$GPUREADY" vm drivers upgrade bundles
expect_in "--to" "$err"
expect_exit 2 "$GPUREADY" vm drivers upgrade bundles --to 1.2.3
expect_in "bundles/1.2.3 is not a driver bundle" "$err"
expect_exit 2 "$GPUREADY" vm drivers upgrade bundles --to ../bundles/580.82.07
expect_in "the name of a bundle" "$err"
[ "$(ls -A bundles)" = "$before" ] || die "left something: $(ls -A bundles)"
ln -sfn /etc bundles/current
expect_exit 2 "$GPUREADY" vm drivers upgrade bundles --to 580.82.07
expect_in "not a bundle of this folder" "$err"
rm bundles/current && mkdir bundles/current
expect_exit 2 "$GPUREADY" vm drivers upgrade bundles --to 580.82.07
expect_in "bundles/current is not a link" "$err"
rmdir bundles/current
# Two at once: the second is told, and changes nothing.
exec 9>bundles/.lock && flock 9
expect_exit 4 "$GPUREADY" vm drivers upgrade bundles --to 580.82.07 9>&-
expect_in "another upgrade" "$err"
