. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
rm -rf ./*
# What --clean-with names is checked before a device is touched.
for command in "vm detach --for no-such-guest" "vm recover"; do
  expect_exit 2 "$GPUREADY" $command --clean-with none
  expect_in "--clean-with: none is not a driver bundle" "$err"
done
make_stub_driver driver 580.65.06
"$GPUREADY" vm drivers collect driver -o bundle >/dev/null
expect_exit 2 "$GPUREADY" vm detach --for no-such-guest --clean-with bundle
expect_in "it has no kernel modules" "$err"
jq '.kernel_releases = ["9.9.9-test"]' bundle/bundle.json >new && mv new bundle/bundle.json
expect_exit 2 "$GPUREADY" vm detach --for no-such-guest --clean-with bundle
expect_in "put it there as vmlinuz-9.9.9-test" "$err"
touch bundle/vmlinuz-9.9.9-test
# With a kernel only the attachment is missing; an ordinary user may not look for it.
want=2 what="only root"
[ "$(id -u)" -ne 0 ] || want=3 what="nothing is attached for it"
expect_exit $want "$GPUREADY" vm detach --for no-such-guest --clean-with bundle --plan
expect_in "$what" "$err"
