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
expect_in "is no program" "$err"
# What a link of the bundle leads to outside is not packed.
cp -r bundle linked
library=$(jq -r '.files[] | select(.kind == "library") | .path' linked/bundle.json | head -n 1)
cp "linked/$library" outside
ln -sf "$PWD/outside" "linked/$library"
expect_exit 2 "$GPUREADY" vm initrd linked -o d.img --guest guest
expect_in "$library leads out of the bundle" "$err"
[ ! -e d.img ] || die "wrote d.img"
