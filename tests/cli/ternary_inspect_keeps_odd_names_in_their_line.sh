. "$LIB"
/usr/bin/python3 "$SOURCE/tests/cli/gguf.py" odd.gguf odd-name
expect_exit 0 "$GPUREADY" ternary inspect --layout i2_s-x86 odd.gguf
expect_in "w ?[2J " "$out"
