# The power goes at the main steps of attach and detach; the next boot's recover brings everything to a whole
# state. Each boot recovers from the last cut and is cut itself. power_cuts.sh does it at every fsync.
. "$SOURCE/tests/vm/cuts.sh"
cuts=${cuts:-"attach,after,3 attach,after,8 detach,before,6 detach,after,9"}
number=0
for cut in $cuts none,none,0; do
  IFS=, read -r operation when at <<<"$cut"
  boot "cut$number" "${disk[@]}" <<END
. /cuts.sh
whole_again
echo "recovered before $cut"
[ $operation != none ] || exit 0
[ $operation != detach ] || gpuready vm attach \$card --for guest >/dev/null 2>&1
CUT_AT=$at CUT_WHEN=$when CUT_HOW=power operate $operation >/dev/null 2>&1
echo "there was no cut at $cut"; exit 1
END
  grep -q "recovered before $cut" "cut$number.log" || { tail -30 "cut$number.log"; die "not whole before $cut"; }
  [ "$operation" = none ] || ! grep -q "there was no cut" "cut$number.log" || die "no cut at $cut"
  number=$((number + 1))
done
expect_passed "cut$((number - 1))"
