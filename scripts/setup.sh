#!/usr/bin/env bash
# Installs what building (and with --tests, testing) needs, from the distribution's own packages
# (packages.txt). Quick when all is there. Usage: scripts/setup.sh [--tests|--full]
set -euo pipefail
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
case $#${1:-} in
  0 | 1--tests | 1--full) ;;
  1-h | 1--help) usage; exit ;;
  *) usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")"
say() { echo "setup: $*" >&2; }

roles=" build "
[ "${1:-}" != --tests ] || roles+="tests "
[ "${1:-}" != --full ] || roles+="tests full "
release=$(. /etc/os-release 2>/dev/null; echo "${UBUNTU_CODENAME:-${VERSION_CODENAME:-other}}")
mapfile -t packages < <(awk -v release="$release" -v roles="$roles" '
  /^#/ || NF == 0 { next }
  index(roles, " " $2 " ") { listed[$1, $2] = listed[$1, $2] substr($0, index($0, $3)) " "; known[$1] = 1 }
  END {
    split(roles, role, " ")
    for (i in role)
      print listed["*", role[i]] (release in known ? listed[release, role[i]] : listed["other", role[i]])
  }' packages.txt | tr -s ' ' '\n' | sed '/^$/d')

if ! command -v apt-get >/dev/null; then
  # Not Debian's or Ubuntu's: what is missing is named; CMake names the libraries.
  missing=()
  for tool in cmake ninja clang++ ld.lld glslangValidator zstd; do
    compgen -c "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} -gt 0 ] || exit 0
  say "not found here: ${missing[*]}"
  say "Install with this system's package manager: a C++ compiler (g++ 12 or newer, or clang 19 or newer),"
  say "CMake 3.22, Ninja, clang 15 or newer with lld (device code), glslang, zstd, and for development (headers,"
  say "static libraries) nlohmann-json, CLI11, fmt, libarchive, zstd, the Vulkan headers, pci.ids."
  exit 1
fi

[ ${#packages[@]} -gt 0 ] || { say "packages.txt could not be read"; exit 1; }
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
unpack() {  # what this release of the system lacks
  local suite names
  while read -r suite names; do
    # shellcheck disable=SC2086
    ./debian_packages.sh ../build/packages "$suite" "$(dpkg --print-architecture)" $names ||
      { say "could not be had: $names of $suite"; exit 1; }
  done < <(awk -v release="$release" '$1 == release && sub(/^from-/, "", $2) { $1 = ""; print }' packages.txt)
}
[ ${#missing[@]} -gt 0 ] || { unpack; exit 0; }

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { say "run as root, or install sudo, to install: ${missing[*]}"; exit 1; }
  as_root=(sudo)
fi
progress() {  # of apt's status lines: "dlstatus:<n>:<percent>:<what>", pmstatus of dpkg
  local terminal=
  [ ! -t 2 ] || terminal=1
  awk -F: -v terminal="$terminal" '
    /^(dl|pm)status:/ {
      step = ($1 == "dlstatus" ? "fetching" : "unpacking") sprintf(" %3d%%", $3)
      if (step == last) next
      last = step
      if (terminal) printf "\r\033[Ksetup: %s  %s", step, $4
      else if (int($3 / 20) != shown || $1 != phase) print "setup: " step
      shown = int($3 / 20); phase = $1; fflush()
    }
    END { if (terminal && last != "") print "" }' >&2
}
say "installing ${#missing[@]} packages: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends -o APT::Status-Fd=1 "${missing[@]}" | progress
unpack
