# gpuready dies at each of its fsyncs, in attach and in detach; recover brings everything to a whole state.
. "$SOURCE/tests/vm/cuts.sh"
limit_s=500
boot killed "${disk[@]}" <<'END'
. /cuts.sh
for operation in attach detach; do
  [ $operation = attach ] || gpuready vm attach $card --for guest >/dev/null 2>&1
  count=$(count_fsyncs $operation)
  whole_again
  echo "$operation: $count fsyncs"
  at=1
  while [ $at -le $count ]; do
    [ $operation = attach ] || gpuready vm attach $card --for guest >/dev/null 2>&1
    CUT_AT=$at CUT_WHEN=after CUT_HOW=kill operate $operation >/dev/null 2>&1 && { echo "it was not killed at $at"; exit 1; }
    whole_again
    at=$((at + 1))
  done
done
END
expect_passed killed
grep fsyncs killed.log
