. "$LIB"
# bitnet.cpp's presets and its setup_env.py have two tilings for this shape; the bytes tell neither.
rm -f ./*.gguf
/usr/bin/python3 "$SOURCE/tests/cli/gguf.py" tl1.gguf tl1
expect_exit 0 "$GPUREADY" ternary inspect tl1.gguf
expect_in "1 of them ambiguous" "$out"
expect_in "possible tl1-bitnet.cpp-setup" "$out"
expect_not_in "likely" "$out"
expect_exit 2 "$GPUREADY" ternary verify tl1.gguf --device cpu
expect_in "possible: tl1-bitnet.cpp, tl1-bitnet.cpp-setup); name its layout with --layout" "$err"
expect_exit 2 "$GPUREADY" ternary convert tl1.gguf a.gguf --to tq2_0
expect_in "possible: tl1-bitnet.cpp, tl1-bitnet.cpp-setup); name its layout with --layout" "$err"
[ ! -e a.gguf ] || die "a file was written in a tiling that was guessed"
for layout in tl1-bitnet.cpp tl1-bitnet.cpp-setup; do
  expect_exit 0 "$GPUREADY" ternary verify tl1.gguf --device cpu --tier scalar --layout $layout
  expect_exit 0 "$GPUREADY" ternary convert tl1.gguf $layout.gguf --to tq2_0 --layout $layout
  expect_exit 0 "$GPUREADY" ternary convert $layout.gguf back.gguf --to $layout
  expect_exit 0 "$GPUREADY" ternary convert back.gguf again.gguf --to tq2_0 --layout $layout --force
  cmp $layout.gguf again.gguf || die "the way by $layout gave other weights"
  rm back.gguf
done
! cmp -s tl1-bitnet.cpp.gguf tl1-bitnet.cpp-setup.gguf || die "both tilings gave the same weights"
