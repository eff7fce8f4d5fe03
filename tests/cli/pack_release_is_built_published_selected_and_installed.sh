# From a recipe to an installed package, by the command line alone.
source "$LIB"
export HOME=$PWD/home
rm -rf home source built release key.* && mkdir -p home source/legacy source/modern source/latest source/cpu
printf 'a test' >password
expect_exit 0 "$GPUREADY" pack key key --no-password --json=key.json
[ "$(stat -c %a key.key)" = 600 ] || die "others can read the private key"
expect_exit 2 "$GPUREADY" pack key key --no-password
public=$(jq -r .public_key key.json)

# Device code as a compiler leaves it in a library: the driver takes PTX text as it is.
for target in legacy:50:6.0 legacy:52:6.0 modern:75:6.3 modern:80:7.0 latest:90:8.0 latest:120:8.7; do
  IFS=: read -r variant sm isa <<<"$target"
  printf '.version %s\n.target sm_%s\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n' "$isa" "$sm" >>"source/$variant/code.ptx"
  printf '\0' >>"source/$variant/code.ptx"
done
for variant in legacy modern latest cpu; do echo same >source/$variant/shared; done
cat >pack.toml <<'T'
name = "seed-libs"
version = "1.0"
folder = "source/{variant}"
[variants.cpu]
[variants.legacy]
architectures = ["50-virtual", "52-virtual"]
[variants.modern]
architectures = ["75-virtual", "80-virtual"]
[variants.latest]
architectures = ["90-virtual", "120-virtual"]
[[models]]
name = "1.1b-gpu"
free_mb = 6000
[[models]]
name = "0.6b-gpu"
free_mb = 3500
[[models]]
name = "cpu-only"
T
expect_exit 0 "$GPUREADY" pack build pack.toml --out built --json=build.json
expect_exit 0 "$GPUREADY" pack publish pack.toml --built built --to release --key key.key --json=publish.json
[ -s release/manifest.json.minisig ] && [ -s release/seed-libs-1.0.md ] || die "the release is not whole"
jq -e --slurpfile bill release/seed-libs-1.0.cdx.json '[.variants[] | .name as $v | .files[] | select(.sha256) | {($v + "/" + .path): .sha256}] | add
  == ([$bill[0].components[].components[] | {(."bom-ref"): .hashes[0].content}] | add)' release/manifest.json >/dev/null || die "the bill of materials names other files"
expect_exit 2 "$GPUREADY" pack publish pack.toml --built built --to release --key key.key
expect_in "is not above 1.0" "$err"

expect_exit 0 "$GPUREADY" pack install release --key "$public" --variant modern --no-load-test --json=install.json
[ "$(cat home/.local/share/seed-libs/gpu-libs/current/shared)" = same ] || die "nothing is installed"
[ "$(jq -r .variant home/.config/seed-libs/gpu-package-info.json)" = modern ] || die "no information"
[ "$(jq -c '[.considered[] | select(.chosen) | .name]' install.json)" = '["modern"]' ] || die "what is taken: $(cat install.json)"
expect_in "--variant names modern." "$(jq -r '.considered[] | select(.name == "cpu") | .why_not' install.json)"
# What an installation decides, it says as select does.
expect_exit 0 "$GPUREADY" pack select release --key "$public" --gpu 8.6 --driver 535.104.05 --json=select.json
expect_exit 0 "$GPUREADY" pack install release --gpu 8.6 --driver 535.104.05 --dry-run --json=planned.json
for key in variants reason gpus driver unserved considered; do
  [ "$(jq -c ".$key" select.json)" = "$(jq -c ".$key" planned.json)" ] || die "$key: $(jq -c ".$key" select.json planned.json)"
done
expect_exit 0 "$GPUREADY" pack install release --variant latest --no-load-test
expect_exit 0 "$GPUREADY" pack list --json=list.json
[ "$(jq '.packages[0].current' list.json)" = 2 ] || die "not two versions"
expect_exit 0 "$GPUREADY" pack verify seed-libs
expect_exit 0 "$GPUREADY" pack rollback seed-libs
expect_in "variant modern, is current now" "$out"
[ "$(jq -r .variant home/.config/seed-libs/gpu-package-info.json)" = modern ] || die "programs are told of the other version"
(umask 000 && "$GPUREADY" pack install release --key "$public" --to open --variant modern --no-load-test -q)
[ -z "$(find open -type f -perm /022)" ] || die "others can write to: $(find open -type f -perm /022)"
rm -rf open
# Damage of the store's own files is exit 1, with its place, and nothing is removed on a guess.
expect_exit 0 "$GPUREADY" pack install release --key "$public" --to hurt --variant modern --no-load-test
expect_exit 0 "$GPUREADY" pack install release --to hurt --variant latest --no-load-test
cp hurt/generations/2/.gpuready/installed.json record && echo '{' >hurt/generations/2/.gpuready/installed.json
expect_exit 1 "$GPUREADY" pack gc --to hurt
expect_in "Nothing was removed" "$err"
[ -d hurt/generations/1 ] || die "gc removed the version before a damaged one"
expect_exit 1 "$GPUREADY" pack list --to hurt
expect_in "number 2 is current, and its record is damaged" "$(echo $out)"
expect_exit 1 "$GPUREADY" pack verify --to hurt
expect_exit 1 "$GPUREADY" pack rollback --to hurt
expect_exit 2 "$GPUREADY" pack rollback --to hurt --number 99
mv record hurt/generations/2/.gpuready/installed.json
cp hurt/state.json seen.json && sed -i 's/"highest_version": "[^"]*"/"highest_version": "new"/' hurt/state.json
expect_exit 1 "$GPUREADY" pack install release --to hurt --variant modern --no-load-test
expect_in 'highest_version is "new", which is not a version' "$(echo $out)"
mv seen.json hurt/state.json
# What was added is found, and a new installation goes without it.
mkdir -p hurt/current/lib && echo evil >hurt/current/lib/libc.so.6 && echo evil >hurt/current/libcuda.so.1
expect_exit 1 "$GPUREADY" pack verify --to hurt --json=hurt.json
[ "$(jq '.packages[0].problems | length' hurt.json)" = 2 ] || die "verify does not name both: $out"
expect_in "/generations/2/libcuda.so.1: the package has no such file: it was added" "$(jq -r '.packages[0].problems[]' hurt.json)"
expect_exit 0 "$GPUREADY" pack install release --to hurt --variant latest --no-load-test
expect_exit 0 "$GPUREADY" pack verify --to hurt
[ ! -e hurt/current/libcuda.so.1 ] || die "what was added is still there"
ln -sfn hurt link && expect_exit 0 "$GPUREADY" pack uninstall --to link --forget
[ -L link ] && [ -z "$(ls hurt)" ] || die "a link to the folder is gone, or something is left"
rm -rf hurt link
expect_exit 2 "$GPUREADY" pack install release --key "$public" --to a:b --variant modern --no-load-test
expect_in "splits LD_LIBRARY_PATH" "$(echo $out)"
[ ! -e a:b ] || die "something was installed into a:b"
mkdir -p home/.local/share/odd/gpu-libs/generations && echo '{' >home/.local/share/odd/gpu-libs/state.json
expect_exit 1 "$GPUREADY" pack list --json=list.json
expect_in "odd/gpu-libs/state.json" "$(jq -r '.packages[].problems[]?' list.json)"
rm -rf home/.local/share/odd
expect_exit 2 env -u HOME "$GPUREADY" pack list
expect_in "HOME is not set" "$err"
expect_exit 2 "$GPUREADY" pack install release --key "$public" --to early --variant cpu --report nowhere/report.json
expect_in "nowhere/report.json cannot be written" "$err"
[ ! -e early ] || die "it was installed though its report cannot be written"
expect_exit 0 "$GPUREADY" pack env seed-libs --json=env.json
expect_exit 0 "$GPUREADY" pack install release --no-load-test
expect_exit 0 "$GPUREADY" pack env seed-libs --check
expect_in "are those that it was installed for" "$out"
record=$(readlink -f home/.local/share/seed-libs/gpu-libs/current)/.gpuready/installed.json
sed -i 's/"machine": "driver [^ ,]*/"machine": "driver 1.2.3/' "$record"
expect_exit 0 "$GPUREADY" pack env seed-libs --check
expect_in "still the right one" "$(echo $out)"
# Another machine, or this one after a change, is asked about without a look at this one.
rm -rf asked && expect_exit 0 "$GPUREADY" pack install release --key "$public" --to asked --gpu none
expect_exit 0 "$GPUREADY" pack env --to asked --check --gpu none
expect_in "The variant cpu is right for that machine, too." "$(echo $out)"
expect_exit 1 "$GPUREADY" pack env --to asked --check --gpu 9.0 --driver 580 --json=env.json
[ "$(jq -c '[.variant, .right, .changed]' env.json)" = '["latest",false,null]' ] || die "$(cat env.json)"
expect_exit 1 "$GPUREADY" pack env --to asked --check --replay "$SOURCE/tests/pack/machines/quadro-m2200.json"
expect_in "That machine needs the variant legacy." "$(echo $out)"
expect_exit 2 "$GPUREADY" pack env --to asked --gpu 9.0
rm -rf asked
expect_exit 0 "$GPUREADY" pack gc seed-libs
# Without libraries there is no folder to put first: an empty part of the variable is the current folder.
[ "$(LD_LIBRARY_PATH=/x "$GPUREADY" pack env seed-libs)" = "" ] || die "pack env names folders without libraries"

# One changed byte: the installed file is found out, and a release with it is refused.
file=home/.local/share/seed-libs/gpu-libs/current/shared
chmod u+w "$file" && printf 'evil\n' >"$file"
expect_exit 1 "$GPUREADY" pack verify seed-libs
expect_in "its content was changed" "$(echo $out)"
cp release/manifest.json good.json
sed -i 's/"size_bytes"/"size_bytes" /' release/manifest.json
expect_exit 1 "$GPUREADY" pack install release --key "$public" --variant modern --no-load-test
expect_in "the signature is wrong" "$out"
cp good.json release/manifest.json
# What was seen is not forgotten by an uninstallation, unless that is asked for.
cp -r release once && expect_exit 0 "$GPUREADY" pack install release --no-load-test
jq '.highest_version = "1.5"' home/.local/share/seed-libs/gpu-libs/state.json >seen.json
cp seen.json home/.local/share/seed-libs/gpu-libs/state.json
expect_exit 0 "$GPUREADY" pack uninstall seed-libs
expect_in "--forget" "$(echo $out)"
expect_exit 2 "$GPUREADY" pack verify seed-libs
[ "$(ls home/.local/share/seed-libs/gpu-libs | xargs)" = "lock state.json" ] || die "something is left"
expect_exit 1 "$GPUREADY" pack install release --key "$public" --no-load-test
expect_in "1.5 was seen before" "$(echo $out)"
expect_exit 1 "$GPUREADY" pack select release
expect_in "1.5 was seen before" "$err"
expect_exit 2 "$GPUREADY" pack select release --key nonsense
expect_exit 0 "$GPUREADY" pack uninstall seed-libs --forget
[ ! -e home/.local/share/seed-libs/gpu-libs ] || die "something is left"
expect_exit 0 "$GPUREADY" pack install release --key "$public" --no-load-test --gpu none
expect_exit 2 "$GPUREADY" pack rollback seed-libs --number 99
expect_in "no version of number 99; those that are there: 1" "$err"
expect_exit 4 "$GPUREADY" pack install release --key "$public" --to /proc/x --gpu none
expect_in "/proc/x: the package's folder cannot be made" "$(echo $out)"
# Another gpuready that does not end in time, and one that does.
exec 7>>home/.local/share/seed-libs/gpu-libs/lock
flock 7
expect_exit 4 "$GPUREADY" pack install release --variant latest --no-load-test --wait 0
expect_in "another gpuready changes this package now" "$(echo $out)"
expect_exit 4 "$GPUREADY" pack gc seed-libs --wait 1
expect_in "waiting at most 1 s" "$err"
exec 7>&-
expect_exit 0 "$GPUREADY" pack install release --variant latest --no-load-test
expect_exit 0 "$GPUREADY" pack uninstall seed-libs --forget

# GPUs that no variant serves together get a set: each file once in the store, each variant in its place.
rm -rf set pair pair-release && mkdir -p pair/hopper pair/blackwell pair/cpu && echo same | tee pair/hopper/shared pair/blackwell/shared pair/cpu/shared >/dev/null
for target in hopper:90a:8.0 blackwell:100a:8.7; do
  IFS=: read -r variant sm isa <<<"$target"
  printf '.version %s\n.target sm_%s\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n\0' "$isa" "$sm" >"pair/$variant/code.ptx"
done
printf 'name = "pair"\nversion = "1"\nfolder = "pair/{variant}"\n[variants.hopper]\narchitectures = ["90a-virtual"]\n[variants.blackwell]\narchitectures = ["100a-virtual"]\n[variants.cpu]\n' >pair.toml
expect_exit 0 "$GPUREADY" pack build pair.toml --out built
expect_exit 0 "$GPUREADY" pack publish pair.toml --built built --to pair-release --key key.key
expect_exit 0 "$GPUREADY" pack install pair-release --key "$public" --to set --gpu 9.0,10.0 --driver 580.65.06 --json=set.json
first=$(jq -r .variant set/gpu-package-info.json)
case $first in hopper+blackwell) second=blackwell ;; blackwell+hopper) second=hopper ;; *) die "the set is called '$first'" ;; esac
cmp set/current/code.ptx "pair/${first%+*}/code.ptx" && cmp set/current/variants/$second/code.ptx pair/$second/code.ptx || die "another variant's file"
[ set/current/shared -ef set/current/variants/$second/shared ] || die "the same content is stored twice"
expect_exit 0 "$GPUREADY" pack verify --to set
expect_exit 0 "$GPUREADY" pack install pair-release --to set --variant cpu --no-load-test
[ ! -e set/current/variants ] || die "the set is still there"
expect_exit 0 "$GPUREADY" pack rollback --to set
[ -s set/current/variants/$second/code.ptx ] || die "the set is not back"
expect_exit 2 "$GPUREADY" pack env --to set --variant cpu
expect_in "installed is ${first%+*} and $second" "$err"

# A new key: the old one signs it, installers learn it from the release, and the old one counts for nothing more.
rm -rf next.* renewed back set && expect_exit 0 "$GPUREADY" pack install release --key "$public" --to set --variant modern --no-load-test
expect_exit 2 "$GPUREADY" pack key next --no-password --signed-by key.key
expect_exit 0 "$GPUREADY" pack key next --no-password --signed-by key.key --package seed-libs
sed -i 's/^version = .*/version = "1.1"/' pack.toml
expect_exit 0 "$GPUREADY" pack build pack.toml --out built
expect_exit 2 "$GPUREADY" pack publish pack.toml --built built --to release --key key.key --keys next.keys.json
expect_exit 0 "$GPUREADY" pack publish pack.toml --built built --to release --key next.key
expect_exit 1 "$GPUREADY" pack install release --to set --variant cpu
expect_exit 0 "$GPUREADY" pack publish pack.toml --built built --to renewed --key next.key --keys next.keys.json
expect_exit 0 "$GPUREADY" pack install renewed --to set --variant cpu --no-load-test
sed -i 's/^version = .*/version = "1.2"/' pack.toml
expect_exit 0 "$GPUREADY" pack build pack.toml --out built
expect_exit 0 "$GPUREADY" pack publish pack.toml --built built --to back --key key.key
expect_exit 1 "$GPUREADY" pack install back --to set --variant cpu

# A recipe for a container of the CUDA release that compiles a variant.
printf 'name = "seed-libs"\nversion = "1"\nfolder = "built-{variant}"\nbuild = ["./build.sh"]\npreset = "legacy-modern-latest"\n' >container.toml
expect_exit 0 "$GPUREADY" pack build container.toml --containerfile 12.9
expect_in "PACK_VARIANT='legacy'" "$out"
expect_in "nvidia/cuda:12.9" "$out"
expect_in "# Not latest: CUDA 13.0 or newer compiles it." "$out"
expect_exit 2 "$GPUREADY" pack build container.toml --containerfile 8.0
expect_exit 2 "$GPUREADY" pack build container.toml --containerfile new
expect_exit 2 "$GPUREADY" pack build container.toml --containerfile 99
expect_in "container.toml: --containerfile 99: no CUDA release 99.0 is known" "$err"

# Each mistake is named with its place and its cure.
sed '/^name = "seed-libs"/d' container.toml >nameless.toml
expect_exit 2 "$GPUREADY" pack build nameless.toml
expect_in 'nameless.toml: name is missing: add a line such as name = "my-libs"' "$err"
expect_exit 2 "$GPUREADY" pack publish pack.toml --built built --to /proc/x --key key.key
expect_in "--to /proc/x: the folder cannot be made" "$err"
expect_exit 2 "$GPUREADY" pack build pack.toml --out /proc/x
expect_in "--out /proc/x: the folder cannot be made" "$err"
# Quiet is quiet: only problems, and what was published.
rm -rf quiet && expect_exit 0 "$GPUREADY" pack build pack.toml --out built -q
[ -z "$out$err" ] || die "build -q says: $out$err"
expect_exit 0 "$GPUREADY" pack publish pack.toml --built built --to quiet --key key.key -q
[ "$(wc -l <<<"$out")" = 1 ] || die "publish -q says: $out"

# A release for GPUs only has nothing for a machine without one, and that breaks no installer.
rm -rf alone && sed '/variants.cpu/d' pack.toml >alone.toml
expect_exit 0 "$GPUREADY" pack build alone.toml --out built
expect_exit 0 "$GPUREADY" pack publish alone.toml --built built --to alone --key key.key
expect_exit 0 "$GPUREADY" pack install alone --key "$public" --to nowhere --gpu none --json=nothing.json
expect_in "has nothing to install here" "$(echo $out)"
[ "$(jq -r .result nothing.json)" = nothing ] && [ ! -e nowhere ] || die "something was installed"
expect_exit 3 "$GPUREADY" pack select alone --key "$public" --gpu none
expect_exit 0 "$GPUREADY" pack select alone --key "$public" --gpu 8.6 --driver 580
expect_in "How much memory of the GPU is free is not known" "$(echo $out)"

# A folder that is not whole is built, with what is missing, and never published.
if command -v cc >/dev/null; then
  rm -rf whole whole-release && mkdir -p whole/lib
  echo 'int part(void) { return 1; }' >part.c && cc -shared -fPIC -Wl,-soname,libpart.so.1 -o whole/lib/libpart.so.1 part.c
  echo 'int puts(const char *); int part(void); int all(void) { return part() + puts("all"); }' >all.c
  cc -shared -fPIC -o whole/lib/liball.so all.c whole/lib/libpart.so.1 -Wl,-rpath,'$ORIGIN'
  cp whole/lib/libpart.so.1 whole/lib/libcudart.so.12
  printf 'name = "whole"\nversion = "1"\nfolder = "whole"\n[variants.cpu]\n' >whole.toml
  expect_exit 1 "$GPUREADY" pack build whole.toml --out built
  expect_in "License.txt" "$(echo $out)"
  echo "its licence" >whole/License.txt
  expect_exit 0 "$GPUREADY" pack build whole.toml --out built
  mv whole/lib/libpart.so.1 .
  expect_exit 1 "$GPUREADY" pack build whole.toml --out built
  expect_in "it needs libpart.so.1, which is not in the folder" "$(echo $out)"
  expect_exit 2 "$GPUREADY" pack publish whole.toml --built built --to whole-release --key key.key
  expect_in "lib/liball.so: it needs libpart.so.1" "$err"
  printf 'name = "whole"\nversion = "1"\nfolder = "whole"\nsystem_libraries = ["libpart.so.1"]\n[floors]\nglibc = "2.1"\n[variants.cpu]\n' >whole.toml
  expect_exit 1 "$GPUREADY" pack build whole.toml --out built
  expect_in "its floor is declared to be 2.1" "$(echo $out)"
  [ ! -e whole-release/manifest.json ] || die "what is not whole was published"
  printf 'name = "whole"\nversion = "1"\nfolder = "whole"\nsystem_libraries = ["libpart.so.1"]\n[variants.cpu]\n' >whole.toml
  expect_exit 0 "$GPUREADY" pack build whole.toml --out built
  expect_exit 0 "$GPUREADY" pack publish whole.toml --built built --to whole-release --key key.key
fi
