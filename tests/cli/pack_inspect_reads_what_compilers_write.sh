. "$LIB"
# Our own images hold PTX; a container of it is written here, and a library around that by the linker.
/usr/bin/python3 - <<'PY'
import struct
ptx = b".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k() { ret; }\n"
ptx += b"\0" * (-len(ptx) % 8)
entry = struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(ptx), 0, 0, 0, 6, 50, 0, 0, 0x11, 0, 0) + ptx
open("one.fatbin", "wb").write(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry)
PY
expect_exit 0 "$GPUREADY" pack inspect one.fatbin
expect_in "compute_50" "$out"
expect_in "5.0 to 12.1" "$out"
expect_exit 0 "$GPUREADY" pack inspect "$GPUREADY" --json -
expect_in '"machine": "' "$out"
expect_in '"libc.so.6"' "$out"
expect_in '"GLIBC"' "$out"
mkdir -p folder
cp one.fatbin folder/
ln -sf nowhere folder/dangling
expect_exit 0 "$GPUREADY" pack inspect folder --json=document.json
[ "$(jq '.files | length' document.json)" = 1 ] || die "one file holds code"
# Cut in the middle of its entry, it is no container.
head -c 100 one.fatbin >cut.fatbin
expect_exit 0 "$GPUREADY" pack inspect cut.fatbin
expect_in "0 with device code" "$out"
expect_exit 2 "$GPUREADY" pack inspect /nonexistent
expect_exit 2 "$GPUREADY" pack inspect
awk 'length > 80 {exit 1}' <<<"$("$GPUREADY" pack inspect one.fatbin)" || die "wider than 80 columns"
if command -v cc >/dev/null; then
  echo 'int one(void) { return 1; }' >code.c
  cc -shared -fPIC -o libone.so code.c -Wl,-rpath,'$ORIGIN/../a/folder/with/a/long/name:/usr/local/another/long/name/lib'
  expect_exit 0 "$GPUREADY" pack inspect libone.so --json=document.json
  [ "$(jq -r '.files[0].elf | .runpath // .rpath | join(" ")' document.json)" = '$ORIGIN/../a/folder/with/a/long/name /usr/local/another/long/name/lib' ] || die "another run path: $(jq -c '.files[0].elf' document.json)"
fi
