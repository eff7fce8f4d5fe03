# Machines try a candidate and sign what they found; only with their reports is the release published.
source "$LIB"
command -v cc >/dev/null || skip "no C compiler"
rm -rf home source built candidate release reports password *.key *.pub && mkdir -p home source/cpu/lib reports
export HOME=$PWD/home GPUREADY_FAKE=none
"$GPUREADY" pack key maker --no-password -q >/dev/null
"$GPUREADY" pack key machine --no-password -q >/dev/null
"$GPUREADY" pack key stranger --no-password -q >/dev/null
# Which password is missing is said.
echo secret >password && "$GPUREADY" pack key locked --password-file password -q >/dev/null
expect_exit 2 setsid "$GPUREADY" pack key next --signed-by locked.key --package libs --no-password
expect_in "Password of locked.key: there is no terminal" "$err"
recipe() {  # VERSION
  printf 'name = "libs"\nversion = "%s"\nfolder = "source/{variant}"\nreport_keys = ["%s"]\n[variants.cpu]\n[[machines]]\nname = "plain"\n' \
    "$1" "$(tail -1 machine.pub)" >pack.toml
}
build() { echo "int one(void) { return $1; }" >code.c && cc -shared -fPIC -o source/cpu/lib/libone.so code.c && "$GPUREADY" pack build --out built -q >/dev/null; }
candidate() { "$GPUREADY" pack publish --built built --to candidate --key maker.key -q >/dev/null; }
publish() { expect_exit "$1" "$GPUREADY" pack publish --built built --to release --key maker.key --require-proof reports; }

recipe 1.0; build 1; candidate
publish 2
expect_in "no load report covers the machine plain (GPUs none)" "$err"
expect_exit 0 "$GPUREADY" pack install candidate --key maker.pub --report reports/plain.json --report-key machine.key
expect_in "is signed by key" "$out"
[ "$(jq -r '.loads[0].libraries[0]' reports/plain.json)" = lib/libone.so ] || die "the report: $(cat reports/plain.json)"
publish 0
[ "$(jq -r '.machines[0].name' release/manifest.json)" = plain ] || die "the manifest names no machine"

# Installed already, it is tried again. The report is of these bytes, and not of the next version.
expect_exit 0 "$GPUREADY" pack install candidate --report again.json
expect_in "is not signed" "$out"
[ "$(jq -r '.loads | length' again.json)" = 1 ] || die "nothing was tried"
recipe 1.1; build 1; candidate
publish 2
expect_in "plain.json: it is of version 1.0, and 1.1 is published" "$err"
expect_exit 0 "$GPUREADY" pack install candidate --report reports/plain.json --report-key machine.key
build 2
publish 2
expect_in "plain.json: it is of other files than variant cpu holds now" "$err"

# Forged: signed by somebody else, changed, not signed.
recipe 1.2; build 2; candidate
expect_exit 0 "$GPUREADY" pack install candidate --report reports/plain.json --report-key stranger.key
publish 2
expect_in "none of the recipe's report_keys signed it" "$err"
expect_exit 0 "$GPUREADY" pack install candidate --report reports/plain.json --report-key machine.key
sed -i 's/libone/libtwo/' reports/plain.json
publish 2
expect_in "none of the recipe's report_keys signed it" "$err"
rm reports/plain.json.minisig
publish 2
expect_in "it is not signed" "$err"

# A load that failed is reported, too, and keeps the release back.
recipe 1.3
echo 'int missing_function(void); int one(void) { return missing_function(); }' >code.c && cc -shared -fPIC -o source/cpu/lib/libone.so code.c
"$GPUREADY" pack build --out built -q >/dev/null; candidate
expect_exit 1 "$GPUREADY" pack install candidate --report reports/plain.json --report-key machine.key
publish 2
expect_in "variant cpu did not load on cpu" "$err"
expect_exit 2 "$GPUREADY" pack install candidate --report x.json --no-load-test
expect_exit 2 "$GPUREADY" pack install candidate --report-key machine.key
