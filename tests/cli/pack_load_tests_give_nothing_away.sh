# What a library of a package tries while it is load-tested, by root's and by an ordinary user's installation: to read the
# user's key and /etc/shadow, to read the environment, to open a connection, to leave a file, to end its supervisor.
source "$LIB"
command -v cc >/dev/null || skip "no C compiler"
printf '%s\n' '#include <sys/syscall.h>' '#include <unistd.h>' \
  'int main(void) { return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 6; }' >landlock.c
cc landlock.c -o landlock 2>/dev/null && ./landlock || skip "this kernel or its headers lack Landlock of Linux 6.12"
rm -rf work && mkdir -p work/home/.ssh work/source/cpu/lib && cd work
export HOME=$PWD/home GPUREADY_FAKE=none AWS_SECRET_ACCESS_KEY=secret
echo key >home/.ssh/id && chmod 600 home/.ssh/id
: >server.log
python3 -u -m http.server 0 --bind 127.0.0.1 --directory source >server.log 2>&1 &
server=$!
trap 'kill $server' EXIT
for _ in $(seq 100); do port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' server.log); [ -n "$port" ] && break; sleep 0.1; done
mark=gpuready-left-$$
cat >code.c <<P
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void when(int done, const char *what) { if (done) { fprintf(stderr, "DID %s\n", what); abort(); } }
static int leaves(const char *path) { return open(path, O_CREAT | O_WRONLY, 0600) >= 0; }
__attribute__((constructor)) static void start(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons($port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  when(open("$HOME/.ssh/id", O_RDONLY) >= 0, "read the key");
  when(open("/etc/shadow", O_RDONLY) >= 0, "read /etc/shadow");
  when(getenv("AWS_SECRET_ACCESS_KEY") != NULL, "read the environment");
  when(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof at) == 0, "connect");
  when(leaves("$HOME/$mark") || leaves("/tmp/$mark") || leaves("/dev/shm/$mark") || leaves("$mark"), "leave a file");
  when(kill(getppid(), SIGKILL) == 0, "end its supervisor");
}
P
cc -shared -fPIC -o source/cpu/lib/libone.so code.c
printf 'name = "libs"\nversion = "1"\nfolder = "source/{variant}"\n[variants.cpu]\n' >pack.toml
"$GPUREADY" pack key key --no-password -q >/dev/null
"$GPUREADY" pack build --out built -q >/dev/null
"$GPUREADY" pack publish --built built --to release --key key.key -q >/dev/null
# Outside of a load test it does all of this, if only reading the key at first.
python3 -c 'import ctypes; ctypes.CDLL("source/cpu/lib/libone.so")' 2>outside.txt && die "the library is harmless"
expect_in "DID read the key" "$(cat outside.txt)"

proven() { [ "$(jq '.installed.loads[0].libraries' "$1")" = 1 ] || die "not load-tested: $(cat "$1")"; }
expect_exit 0 "$GPUREADY" pack install release --key key.pub --variant cpu --to as-caller --json=as-caller.json
proven as-caller.json
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  user=$(mktemp -d /tmp/gpuready-user-XXXXXX)
  trap 'kill $server; rm -rf "$user"' EXIT
  cp -r home release key.pub "$user"
  cp "$GPUREADY" "$user/gpuready"
  # Its home is the same path for the library: a link to what belongs to that user.
  rm -rf home && ln -s "$user/home" home
  chown -R 65534:65534 "$user"
  cd "$user"
  HOME=$user/home setpriv --reuid 65534 --regid 65534 --clear-groups ./gpuready pack install release --key key.pub --variant cpu \
    --json=as-user.json >"$user/log" 2>&1 || die "as a user: $(cat "$user/log")"
  proven as-user.json
fi
