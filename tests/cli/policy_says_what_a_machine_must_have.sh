. "$LIB"
eight=$MACHINES/base-hgx-h100x8/machine.json
expect_exit 0 "$GPUREADY" policy init --replay "$eight" policy.toml
expect_exit 0 "$GPUREADY" policy check policy.toml --replay "$eight"
expect_in "The machine meets policy.toml" "$out"
expect_in "expected: 8 x H100" "$out"
sed -i 's/^count = 8/count = 9/' policy.toml
expect_exit 3 "$GPUREADY" policy check policy.toml --replay "$eight" --json
[ "$(jq -r '.unmet | length' <<<"$out")" = 1 ] || die "$out"
for command in detect doctor; do
  expect_exit 3 "$GPUREADY" $command --replay "$eight" --policy policy.toml
  expect_in "Not as policy.toml says: 9 x H100" "$(tr -s ' \n' ' ' <stdout.txt)"
  expect_exit 0 "$GPUREADY" $command --replay "$eight" --expect 8xH100
  expect_exit 3 "$GPUREADY" $command --replay "$eight" --expect 8xA100
  expect_exit 2 "$GPUREADY" $command --replay "$eight" --expect 8x
done
expect_exit 3 "$GPUREADY" check --device cpu --expect 1xH100
# What it accepts, and for how long.
link=$MACHINES/pcie-link-degraded/machine.json
accepts() { printf '[[accept]]\nname = "pcie-link-degraded"\nreason = "a riser"\nuntil = "%s"\n' "$1" >accept.toml; }
accepts 2999-12-31
expect_exit 0 "$GPUREADY" doctor --replay "$link" --policy accept.toml
expect_in "Accepted, as asked by accept.toml, until 2999-12-31: a riser" "$(tr -s ' \n' ' ' <stdout.txt)"
expect_exit 0 "$GPUREADY" policy check accept.toml --replay "$link"
expect_in "accepted: pcie-link-degraded: accept.toml, until 2999-12-31: a riser" "$(tr -s ' \n' ' ' <stdout.txt)"
accepts 2020-12-31
expect_exit 0 "$GPUREADY" doctor --replay "$link" --policy accept.toml
expect_in "no longer accepted: pcie-link-degraded: accepted until 2020-12-31" "$(tr -s ' \n' ' ' <stdout.txt)"
expect_in "0 errors, 1 warning" "$out"
echo 'levels = 1' >wrong.toml
expect_exit 2 "$GPUREADY" check --policy wrong.toml
expect_in "wrong.toml: levels is not known here" "$err"
