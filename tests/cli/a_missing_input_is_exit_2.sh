# In every command: the input that is named and missing is wrong usage, not undetermined.
. "$LIB"
touch file
while read -r command; do
  expect_exit 2 "$GPUREADY" $command
  expect_in "no/such" "$err$out"
  expect_in "No such file or directory" "$err$out"
done <<'END'
check --replay no/such
detect --replay no/such
doctor --replay no/such
doctor --baseline no/such
test --device cpu --baseline no/such
selftest --replay no/such
ternary inspect no/such
ternary verify no/such
ternary convert no/such out.gguf --to tq2_0
pack inspect no/such
pack explain no/such
pack explain file --replay no/such
pack select no/such --gpu none
pack install no/such --gpu none
bench history --results no/such
bench import no/such
vm list --replay no/such
vm show 0000:17:00.0 --replay no/such
vm doctor --replay no/such
vm doctor --console no/such
vm compat --image-cuda 12.4 --bundle no/such
vm compat --image-cuda 12.4 --driver 550 --rootfs no/such
vm drivers verify no/such
vm drivers show no/such
END
# A package is a folder with more in it.
for command in list verify rollback gc uninstall env; do
  expect_exit 2 "$GPUREADY" pack $command --to no/such
  expect_in "no/such: no package is installed there" "$err"
done
for command in "report no/such" "export no/such" "compare no/such latest" "promote no/such latest"; do
  expect_exit 2 "$GPUREADY" bench $command
  expect_in "no/such is neither a file nor the tag or id of a run" "$err"
done
expect_exit 2 "$GPUREADY" pack install file --key no/such
expect_in "no/such: neither a file with a public key nor such a key" "$out"
