. "$LIB"
rm -f -- out.json out.gguf no-such-package other.toml 17:00.0
# A value that may be left out stands after "="; the word that follows is what it is without the option.
one_document() { jq -e ".command == \"$1\"" stdout.txt >/dev/null || die "not the document of $1 alone: $out"; }
stray() { # HINT COMMAND...
  local hint=$1
  shift
  expect_exit 2 "$GPUREADY" "$@"
  expect_in "was not expected; did you mean $hint?" "$err"
  [ -z "$out" ] || die "the work was done: $out"
}
stray --json=out.json detect --json out.json
stray --json=out.json --json out.json
stray --json=out.json detect -q --json out.json --no-color
stray --require-gpu=2 detect --require-gpu 2
stray --lock-clocks=900 bench run --lock-clocks 900
stray --json=out.json vm compat --image-cuda 12.4 --driver 550 --json out.json
[ ! -e out.json ] || die "a stray word was written to"
for bare in "--json" "--json -" "--json=-" "--json=/dev/stdout"; do
  # shellcheck disable=SC2086
  expect_exit 0 "$GPUREADY" detect --no-libraries $bare
  one_document detect
  # shellcheck disable=SC2086
  expect_exit 0 "$GPUREADY" $bare detect --no-libraries
  one_document detect
done
expect_exit 0 "$GPUREADY" detect --no-libraries --json=out.json
jq -e .command out.json >/dev/null || die "no document in out.json"
expect_exit 3 "$GPUREADY" detect --fake none --require-gpu --json
expect_exit 3 "$GPUREADY" detect --fake none --require-gpu=2
# What follows is the file, the device, the package that the command is about.
python3 "$SOURCE/tests/cli/gguf.py" model.gguf tq2
cp model.gguf before.gguf
for command in "verify --device cpu" inspect; do
  # shellcheck disable=SC2086
  expect_exit 0 "$GPUREADY" ternary $command --json model.gguf
  one_document "ternary ${command%% *}"
  # shellcheck disable=SC2086
  expect_exit 0 "$GPUREADY" ternary $command --json - model.gguf
  one_document "ternary ${command%% *}"
done
expect_exit 0 "$GPUREADY" ternary convert --json model.gguf out.gguf --to tq1_0
one_document "ternary convert"
expect_exit 0 "$GPUREADY" vm show --json 17:00.0 --replay "$MACHINES/vm-host-h100/machine.json"
one_document "vm show"
jq -e '.devices | length == 1' stdout.txt >/dev/null || die "not of that device alone: $out"
expect_exit 2 "$GPUREADY" pack list --json no-such-package
expect_in "no-such-package" "$err"
expect_exit 2 "$GPUREADY" pack build --json other.toml
expect_in "other.toml" "$err"
rm out.json
# A report that is not there yet can be none of these, wherever the command takes a file, a device or a name.
for command in "ternary inspect" "ternary verify" "ternary convert" "pack inspect" "pack explain --gpu 8.6" \
  "pack select" "pack install" "pack list" "pack build" "bench compare" "vm show" "vm doctor"; do
  for file in "" model.gguf "model.gguf more"; do
    # shellcheck disable=SC2086
    stray --json=out.json $command --json out.json $file
    expect_in "out.json was not expected" "$err"
  done
done
[ ! -e out.json ] || die "a stray word was written to"
# One that is there may be meant, until there is one word too many.
echo '{}' >out.json
stray --json=out.json ternary inspect --json out.json model.gguf
expect_exit 2 "$GPUREADY" ternary inspect --json model.gguf other.gguf
expect_not_in "--json=model.gguf" "$err"
expect_exit 2 "$GPUREADY" ternary inspect --json out.json
expect_not_in "not expected" "$err"
rm out.json
expect_exit 2 "$GPUREADY" ternary inspect -- out.json
expect_not_in "not expected" "$err"
# A value of another option, or what stands after "--", is left as it is.
expect_exit 0 "$GPUREADY" record r.tar.zst -q --description --json
expect_exit 2 "$GPUREADY" ternary inspect -- --json
expect_in "No such file" "$err"
cmp model.gguf before.gguf || die "the model was replaced"
for name in no-such-package other.toml 17:00.0; do [ ! -e "$name" ] || die "wrote $name"; done
