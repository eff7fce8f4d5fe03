. "$LIB"
expect_exit 0 "$GPUREADY" record --redact --description "box of zephyrq" here.tar.zst
expect_in "the description is left out" "$err"
! zstd -dc here.tar.zst | grep -aqF zephyrq || die "the description is in the recording"
expect_exit 0 "$GPUREADY" record --description "box of zephyrq" whole.tar.zst
zstd -dc whole.tar.zst | grep -aF zephyrq >/dev/null || die "a whole recording lost its description"
