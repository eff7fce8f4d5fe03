# Before a version becomes current its libraries are opened in a child: one that crashes, or lacks what it
# needs, is refused by name, and what was installed stays. As root the child is nobody.
source "$LIB"
export ASAN_OPTIONS=handle_segv=0  # a build with sanitizers would end with exit code 1
command -v cc >/dev/null || skip "no C compiler"
rm -rf home source built release key.* && mkdir -p home source/cpu/lib
export HOME=$PWD/home
library() { printf '%s\n' "$1" >code.c && cc -shared -fPIC -o source/cpu/lib/libone.so code.c; }
release() {  # VERSION
  printf 'name = "libs"\nversion = "%s"\nfolder = "source/{variant}"\n[variants.cpu]\n' "$1" >pack.toml
  "$GPUREADY" pack build --out built -q >/dev/null
  "$GPUREADY" pack publish --built built --to release --key key.key -q >/dev/null
}
"$GPUREADY" pack key key --no-password -q >/dev/null

library 'int one(void) { return 1; }'
release 1
expect_exit 0 "$GPUREADY" pack install release --key key.pub --gpu none
expect_exit 0 "$GPUREADY" pack install release --variant cpu --json=install.json
current() { jq -r '.packages[0] | .current as $n | .installed[] | select(.number == $n) | .version' <("$GPUREADY" pack list libs --json); }
[ "$(current)" = 1 ] || die "version 1 is not current"

library '__attribute__((constructor)) static void start(void) { *(volatile int *)0 = 1; }'
release 2
expect_exit 1 "$GPUREADY" pack install release --variant cpu
expect_in "libone.so: the process died by signal 11" "$(echo $out)"
[ "$(current)" = 1 ] || die "a library that crashes is current"

library 'int missing_function(void); int one(void) { return missing_function(); }'
release 3
expect_exit 1 "$GPUREADY" pack install release --variant cpu
expect_in "missing_function" "$out"
[ "$(current)" = 1 ] || die "a library that lacks a symbol is current"

if [ "$(id -u)" -eq 0 ]; then
  mkdir -p closed && chmod 755 closed && rm -f closed/file
  library "#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
__attribute__((constructor)) static void start(void) {
  FILE *file = fopen(\"$PWD/closed/file\", \"w\");
  if (file || geteuid() == 0 || setuid(0) == 0) abort();
}"
  release 4
  expect_exit 0 "$GPUREADY" pack install release --variant cpu
  [ ! -e closed/file ] || die "the child could write as root"
fi
# Nor may it read what only root may, and it gets nothing of the caller's variables. Its own copy of a library
# that gpuready itself needs is in no process that has been root's.
if [ "$(id -u)" -eq 0 ]; then
  echo secret >secret && chmod 600 secret && rm -f closed/file
  isolated=0 && unshare -n true 2>/dev/null && isolated=1
  library "#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if ($isolated && connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof at) && errno == ECONNREFUSED)
    abort();  // without a network there is not even that answer
  if (fopen(\"$PWD/secret\", \"r\") || fopen(\"/etc/shadow\", \"r\")) abort();
  if (getenv(\"AWS_SECRET_ACCESS_KEY\") || getenv(\"LD_PRELOAD\") || getenv(\"GPUREADY_OCI_TOKEN\")) abort();
  FILE *file = fopen(\"$PWD/closed/file\", \"w\");
  if (file) abort();
}"
  release 5
  AWS_SECRET_ACCESS_KEY=x GPUREADY_OCI_TOKEN=x expect_exit 0 "$GPUREADY" pack install release --variant cpu
  # The package lies where nobody else can go, and is tried all the same.
  chmod 700 home
  (umask 077; sed -i 's/^version.*/version = "6"/' pack.toml
   "$GPUREADY" pack build --out built -q && "$GPUREADY" pack publish --built built --to release --key key.key -q) >/dev/null
  (umask 077; "$GPUREADY" pack install release --variant cpu) >/dev/null || die "not installed under umask 077"
  [ "$(current)" = 6 ] || die "version 6 is not current"
  cp source/cpu/lib/libone.so kept.so
  library "#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void) {
  FILE *file = geteuid() == 0 ? fopen(\"$PWD/closed/file\", \"w\") : NULL;
  if (file) fclose(file);
}"
  mv source/cpu/lib/libone.so source/cpu/lib/libm.so.6 && mv kept.so source/cpu/lib/libone.so
  release 7
  "$GPUREADY" pack install release --variant cpu >/dev/null 2>&1 || true
  [ ! -e closed/file ] || die "a library of the package was loaded as root"
  rm source/cpu/lib/libm.so.6
fi
library 'int one(void) { return 5; }'
release 8
expect_exit 0 "$GPUREADY" pack install release --variant cpu --json=install.json
[ "$(jq '.installed.loads[0].libraries' install.json)" = 1 ] || die "no load test: $(cat install.json)"
