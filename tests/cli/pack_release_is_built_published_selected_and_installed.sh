# From a recipe to an installed package, by the command line alone.
source "$LIB"
export HOME=$PWD/home
rm -rf home source built release key.* && mkdir -p home source/legacy source/modern source/latest source/cpu
printf 'a test' >password
expect_exit 0 "$GPUREADY" pack key key --no-password --json key.json
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
expect_exit 0 "$GPUREADY" pack build pack.toml --out built --json build.json
expect_exit 0 "$GPUREADY" pack publish pack.toml --built built --to release --key key.key --json publish.json
[ -s release/manifest.json.minisig ] && [ -s release/seed-libs-1.0.md ] || die "the release is not whole"
expect_exit 2 "$GPUREADY" pack publish pack.toml --built built --to release --key key.key
expect_in "is not above 1.0" "$err"

expect_exit 0 "$GPUREADY" pack install release --key "$public" --variant modern --no-load-test --json install.json
[ "$(cat home/.local/share/seed-libs/gpu-libs/current/shared)" = same ] || die "nothing is installed"
[ "$(jq -r .variant home/.config/seed-libs/gpu-package-info.json)" = modern ] || die "no information"
expect_exit 0 "$GPUREADY" pack install release --variant latest --no-load-test
expect_exit 0 "$GPUREADY" pack list --json list.json
[ "$(jq '.packages[0].current' list.json)" = 2 ] || die "not two versions"
expect_exit 0 "$GPUREADY" pack verify seed-libs
expect_exit 0 "$GPUREADY" pack rollback seed-libs
expect_in "variant modern, is current now" "$out"
expect_exit 0 "$GPUREADY" pack env seed-libs --json env.json
expect_exit 0 "$GPUREADY" pack install release --no-load-test
expect_exit 0 "$GPUREADY" pack env seed-libs --check
expect_in "are those that it was installed for" "$out"
record=$(readlink -f home/.local/share/seed-libs/gpu-libs/current)/.gpuready/installed.json
sed -i 's/"machine": "driver [^ ,]*/"machine": "driver 1.2.3/' "$record"
expect_exit 0 "$GPUREADY" pack env seed-libs --check
expect_in "still the right one" "$(echo $out)"
expect_exit 0 "$GPUREADY" pack gc seed-libs

# One changed byte: the installed file is found out, and a release with it is refused.
file=home/.local/share/seed-libs/gpu-libs/current/shared
chmod u+w "$file" && printf 'evil\n' >"$file"
expect_exit 1 "$GPUREADY" pack verify seed-libs
expect_in "its content was changed" "$out"
sed -i 's/"size_bytes"/"size_bytes" /' release/manifest.json
expect_exit 1 "$GPUREADY" pack install release --key "$public" --variant modern --no-load-test
expect_in "the signature is wrong" "$out"
expect_exit 0 "$GPUREADY" pack uninstall seed-libs
[ ! -e home/.local/share/seed-libs/gpu-libs ] || die "something is left"
expect_exit 4 "$GPUREADY" pack verify seed-libs
