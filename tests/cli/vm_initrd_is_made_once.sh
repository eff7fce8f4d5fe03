. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
rm -rf ./*
make_stub_driver driver 580.65.06
"$GPUREADY" vm drivers collect driver -o bundle >/dev/null
printf "#!/init\n" >guest
expect_exit 0 "$GPUREADY" vm initrd bundle -o a.img --guest guest
expect_in "written" "$out"
expect_exit 0 "$GPUREADY" vm initrd bundle -o a.img --guest guest --json -
[ "$(jq .unchanged <<<"$out")" = true ] || die "written again: $out"
expect_exit 0 "$GPUREADY" vm initrd bundle -o b.img --guest guest
cmp a.img b.img
expect_exit 0 "$GPUREADY" vm initrd bundle -o c.img --guest guest --capabilities utility
[ "$(stat -c %s c.img)" -lt "$(stat -c %s a.img)" ] || die "a capability takes no less"
expect_exit 2 "$GPUREADY" vm initrd bundle -o d.img --guest guest --capabilities magic
expect_exit 2 "$GPUREADY" vm initrd bundle -o d.img --guest guest --kernel 6.1
expect_exit 2 "$GPUREADY" vm initrd driver -o d.img --guest guest
[ ! -e d.img ] || die "wrote d.img"
# Without the guest's init the cure is named.
cp "$GPUREADY" alone
expect_exit 2 ./alone vm initrd bundle -o d.img
expect_in "name it with --guest" "$err"
# What the kernel could not start is no init.
for wrong in /dev/null bundle/bundle.json; do
  expect_exit 2 "$GPUREADY" vm initrd bundle -o d.img --guest $wrong
done
expect_in "is not a program" "$err"
