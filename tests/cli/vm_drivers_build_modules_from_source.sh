# `vm drivers collect --headers`: the modules are built from the source in a folder, a tar archive or a package, outside
# the user's folder, and checked. The source here is a stub whose Makefile links a module without a kernel.
. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
for tool in make cc strip ar tar; do command -v $tool >/dev/null || skip "no $tool"; done
rm -rf ./*
make_stub_driver driver 580.65.06
mkdir -p source/nvidia headers/include/config headers/include/generated headers/scripts
touch source/nvidia/nvidia.Kbuild
echo 'ccflags-y += -DNV_VERSION_STRING=\"580.65.06\"' >source/Kbuild
cat >source/nvidia/nv.c <<'C'
#define SAYS(name, text) static const char name[] __attribute__((section(".modinfo"), used)) = text
SAYS(a, "vermagic=" RELEASE " SMP mod_unload ");
SAYS(b, "version=580.65.06");
SAYS(c, "license=Dual MIT/GPL");
SAYS(d, "name=nvidia");
C
cat >source/Makefile <<'M'
modules:
	[ -z "$$BREAK" ] || { echo "nv.c:1:2: error: too few arguments" >&2; exit 1; }
	cc -g -c -DRELEASE='"$(shell cut -d'"' -f2 $(SYSOUT)/include/generated/utsrelease.h)"' nvidia/nv.c -o nvidia.ko
M
echo all: >headers/Makefile
echo 6.1.192 >headers/include/config/kernel.release
echo '#define UTS_RELEASE "6.1.0-test"' >headers/include/generated/utsrelease.h
printf 'CONFIG_CC_VERSION_TEXT="gcc-12 (Debian) 12.2"\nCONFIG_MODULE_SIG=y\nCONFIG_MODULE_SIG_HASH="sha512"\n' \
  >headers/include/config/auto.conf
tar -cJf open.tar.xz --transform 's#^source#modules/nvidia-open-kernel#' source
mkdir -p deb/usr/src && cp open.tar.xz deb/usr/src/nvidia-open-kernel.tar.xz
(cd deb && tar -cJf ../data.tar.xz ./usr && printf '2.0\n' >../debian-binary && tar -czf ../control.tar.gz -T /dev/null)
ar rc nvidia-open-kernel-source.deb debian-binary control.tar.gz data.tar.xz

built() {  # FROM BUNDLE: a bundle with the module, made from the driver and FROM
  expect_exit 0 "$GPUREADY" vm drivers collect driver "$1" --headers headers -o "$2" --json -
  [ "$(jq -c '.bundles[0].bundle | [.kernel_releases, .open_modules]' <<<"$out")" = '[["6.1.0-test"],true]' ] ||
    die "$1: $out"
  jq -r '.bundles[0].bundle.files[] | select(.kind == "module").source' <<<"$out" | grep -q "built for 6.1.0-test" ||
    die "$1: not told as built"
  [ -e "$2/modules/6.1.0-test/nvidia.ko" ] && [ "$(ls "$2")" = "$(printf 'bin\nbundle.json\nfirmware\nlib\nmodules')" ] ||
    die "$1: $(find "$2")"
}
built source one
built open.tar.xz two
built nvidia-open-kernel-source.deb three
cmp one/modules/6.1.0-test/nvidia.ko two/modules/6.1.0-test/nvidia.ko
! readelf -S one/modules/6.1.0-test/nvidia.ko | grep -q debug_info || die "not stripped"
[ ! -e source/nvidia.ko ] || die "built in the user's folder"
expect_exit 0 "$GPUREADY" vm drivers verify one

refused() {  # TEXT [OPTION...]: exit 2 with this text, and nothing is left
  local text=$1
  shift
  expect_exit 2 "$GPUREADY" vm drivers collect driver source -o bad "$@"
  expect_in "$text" "$(echo $err)"
  [ ! -e bad ] && [ -z "$(ls -d .gpuready* 2>/dev/null)" ] || die "left something: $(ls -A)"
}
BREAK=1 refused "cannot build source for 6.1.0-test: nv.c:1:2: error: too few arguments; make, binutils" --headers headers
expect_in "(gcc-12 (Debian) 12.2)" "$(echo $err)"
refused "source: not the headers of a kernel: include/config/auto.conf is missing" --headers source
refused "No such file" --headers nowhere
refused "to sign modules, give --sign-key and --sign-certificate together" --headers headers --sign-key open.tar.xz
sed -i s/580/570/ source/Kbuild
refused "the modules' source is of 570.65.06, the libraries are of 580.65.06" --headers headers
sed -i s/570/580/ source/Kbuild
sed -i 's/RELEASE " SMP/"9.9.9 SMP/' source/nvidia/nv.c
refused 'nvidia.ko was built for "9.9.9" (vermagic), and the headers are of 6.1.0-test' --headers headers
sed -i 's/"9.9.9 SMP/RELEASE " SMP/' source/nvidia/nv.c
echo 'include /nowhere/linux-headers-common/Makefile' >headers/Makefile
refused "install the package linux-headers-common" --headers headers
# Unpacked elsewhere, the common headers stand beside the others, and the others below usr/src.
mkdir -p unpacked/usr/src/linux-headers-common
cp -r headers unpacked/usr/src/linux-headers-6.1.0-test
echo all: >unpacked/usr/src/linux-headers-common/Makefile
expect_exit 0 "$GPUREADY" vm drivers collect driver source -o four --headers unpacked
echo all: >headers/Makefile
expect_exit 2 "$GPUREADY" vm drivers collect driver -o bad --headers headers
expect_in "no source of kernel modules in driver" "$(echo $err)"
# Interrupted, it ends the build with all that it started, and leaves nothing.
cp source/Makefile Makefile.whole
printf 'modules:\n\techo $$$$ >%s/pid; sleep 300 & wait\n' "$PWD" >source/Makefile
interrupted_build() {  # COMMAND...
  rm -f pid
  "$@" >/dev/null 2>stderr.txt &
  started=$!
  for _ in $(seq 600); do [ -s pid ] && break; sleep 0.1; done
  [ -s pid ] || die "the build did not begin"
  kill -TERM $started
  got=0
  wait $started || got=$?
  [ "$got" = 130 ] || die "$*: exit $got instead of 130"
  grep -q "interrupted; nothing of it is kept" stderr.txt || die "$(cat stderr.txt)"
  ! kill -0 "$(cat pid)" 2>/dev/null || die "$*: the build goes on"
}
interrupted_build "$GPUREADY" vm drivers collect driver source -o bad --headers headers
[ ! -e bad ] && [ -z "$(ls -d .gpuready* 2>/dev/null)" ] || die "left something: $(ls -A)"
interrupted_build "$GPUREADY" vm drivers upgrade bundles driver source --headers headers
[ "$(ls -A bundles)" = .lock ] || die "left something: $(ls -A bundles)"
rm -r bundles
mv Makefile.whole source/Makefile

# Signatures: by the kernel's own tool, and only those that are there.
echo CONFIG_MODULE_SIG_FORCE=y >>headers/include/config/auto.conf
expect_exit 0 "$GPUREADY" vm drivers collect driver source -o five --headers headers
expect_in "6.1.0-test loads only signed modules" "$(echo $out)"
refused "headers has no scripts/sign-file" --headers headers --sign-key open.tar.xz --sign-certificate open.tar.xz
printf '#!/bin/sh\nexit 0\n' >headers/scripts/sign-file
chmod +x headers/scripts/sign-file
refused "nvidia.ko was not signed" --headers headers --sign-key open.tar.xz --sign-certificate open.tar.xz
cat >headers/scripts/sign-file <<'S'
#!/bin/sh
[ "$1" = sha512 ] && [ -e "$2" ] && [ -e "$3" ] || exit 1
printf 'sig\0\0\2\0\0\0\0\0\0\0\0\3~Module signature appended~\n' >>"$4"
S
expect_exit 0 "$GPUREADY" vm drivers collect driver source -o six --headers headers \
  --sign-key open.tar.xz --sign-certificate open.tar.xz --json -
[ "$(jq '[.bundles[0].bundle.files[] | select(.kind == "module").module.is_signed] | all' <<<"$out")" = true ] ||
  die "not signed: $out"
expect_not_in "loads only signed modules" "$out"
# A signature that was cut is none.
printf 'sig\0\0\2\0\0\0\0\0\0\1\0\3~Module signature appended~\n' >tail
mkdir -p cut && cp one/modules/6.1.0-test/nvidia.ko cut/ && cat tail >>cut/nvidia.ko
expect_exit 2 "$GPUREADY" vm drivers collect driver cut -o bad
expect_in "its signature is damaged" "$(echo $err)"
