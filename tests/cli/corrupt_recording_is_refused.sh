. "$LIB"
expect_exit 0 "$GPUREADY" record good.tar.zst
head -c 700 good.tar.zst >short.tar.zst
expect_exit 2 "$GPUREADY" doctor --replay short.tar.zst
expect_in short.tar.zst "$err"
printf 'not a recording' >text
expect_exit 2 "$GPUREADY" doctor --replay text
expect_exit 2 "$GPUREADY" doctor --replay /nonexistent
expect_in /nonexistent "$err"
