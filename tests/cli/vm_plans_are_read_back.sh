# The journal accepts only known steps: every plan that gpuready makes is among them, on every machine.
. "$LIB"
plans=0
for machine in "$MACHINES"/*/machine.json; do
  case $machine in *vm-* | *passthrough* | */base-* | *healthy*) ;; *) continue ;; esac
  for address in $("$GPUREADY" vm list --replay "$machine" --json | jq -r '.devices[]?.address' | head -4); do
    for option in "" --managed "--hugepages 4"; do
      # shellcheck disable=SC2086
      "$GPUREADY" vm plan "$address" --for web-1 $option --replay "$machine" --json=plan.json >/dev/null 2>&1 || continue
      jq --arg base "$(realpath --relative-to=. "$machine")" '
        {schema: "gpuready.machine-script", schema_version: 1, description: "attached", source: "vm plan", extends: $base,
         files: {"/var/lib/gpuready/vm/000001.1.attach.jsonl":
           ([{plan: .operations[0].plan, boot_id: "1"}, {end: "done"}] | map(tojson) | join("\n") + "\n")}}' plan.json >attached.json
      "$GPUREADY" vm status --replay attached.json --json=status.json >/dev/null 2>&1 || true
      expect_not_in "not one of" "$(cat status.json)"
      expect_in web-1 "$(cat status.json)"
      plans=$((plans + 1))
    done
  done
done
[ "$plans" -ge 8 ] || die "only $plans plans"
