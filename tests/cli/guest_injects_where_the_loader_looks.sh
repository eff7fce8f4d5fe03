. "$LIB"
. "$SOURCE/tests/vm/stub_driver.sh"
guest=$(dirname "$GPUREADY")/gpuready-guest
[ -x "$guest" ] || skip "built without gpuready-guest"
[ "$(uname -m)" = x86_64 ] || skip "the roots are for x86_64"
rm -rf ./*
make_stub_driver driver 580.65.06
"$GPUREADY" vm drivers collect driver -o bundle >/dev/null
cat >asks.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  const char* (*name)(void) = library ? (const char* (*)(void))dlsym(library, "stub_libcuda") : 0;
  puts(name ? name() : dlerror());
  return name == 0;
}
C
cc asks.c -o asks -ldl
libc=$(ldd asks | sed -n 's/.*libc.so.6 => \([^ ]*\) .*/\1/p')
[ -n "$libc" ] || skip "this system's C library is not glibc"
root() { # NAME LOADER_FOLDER
  mkdir -p "$1/$2" "$1/lib64" "$1/usr/bin" "$1/etc"
  cp "$libc" "$1/$2/libc.so.6"
  cp /lib64/ld-linux-x86-64.so.2 "$1/lib64/"
  cp asks "$1/usr/bin/"
  echo "/$2" >"$1/etc/ld.so.conf"
}
for folder in usr/lib/x86_64-linux-gnu usr/lib64; do
  name=${folder//\//_}
  root "$name" "$folder"
  /sbin/ldconfig -r "$name" 2>/dev/null || true
  expect_exit 0 "$guest" inject --root "$name" --bundle bundle
  expect_in "names in /$folder" "$out"
  [ "$(readlink "$name/$folder/libcuda.so.1")" = /usr/lib/nvidia/lib/libcuda.so.580.65.06 ] || die "no link"
  /sbin/ldconfig -p -C "$name/etc/ld.so.cache" | grep -q "libcuda.so.1 .*=> /$folder/libcuda.so.1" ||
    die "ldconfig does not read libcuda.so.1 in the new cache"
  expect_exit 0 "$guest" inject --root "$name" --bundle bundle
  expect_in "0 files, 0 bytes, 0 names" "$out"
  # Its own loader takes it; this system's looks in one of the two folders by the cache alone.
  if [ "$(id -u)" -eq 0 ]; then
    expect_exit 0 chroot "$name" /usr/bin/asks
    expect_in "libcuda 580.65.06" "$out"
  fi
done
# What the image has itself is in the way, and stays.
root own usr/lib64
echo mine >own/usr/lib64/libcuda.so.1
expect_exit 2 "$guest" inject --root own --bundle bundle
expect_in "FAIL library own: the image has its own /usr/lib64/libcuda.so.1" "$err"
[ ! -e own/usr/lib/nvidia ] || die "changed something"
expect_exit 0 "$guest" inject --root own --bundle bundle --replace
[ "$(cat own/usr/lib64/libcuda.so.1.gpuready-saved)" = mine ] || die "lost the image's own"
# musl, and nonsense.
mkdir -p musl/lib
touch musl/lib/ld-musl-x86_64.so.1
expect_exit 2 "$guest" inject --root musl --bundle bundle
expect_in "musl" "$err"
expect_exit 2 "$guest" inject --root own --bundle driver
expect_exit 2 "$guest" inject --root nowhere --bundle bundle
expect_exit 2 "$guest" inject --bundle bundle
expect_exit 2 "$guest" inject --root own --bundle bundle --capabilities magic
expect_exit 2 "$guest" frobnicate --root own --bundle bundle
for words in --help -h help "inject --help"; do
  expect_exit 0 "$guest" $words
  expect_in "usage: gpuready-guest inject --root ROOT" "$out"
done
# Only what is in the bundle goes into the root.
echo secret >secret && ln -sfn ../../secret bundle/lib/libcuda.so.580.65.06
expect_exit 2 "$guest" inject --root own --bundle bundle
expect_in "leads out of the bundle" "$err"
