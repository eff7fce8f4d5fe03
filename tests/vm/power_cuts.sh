# The power goes before and after every fsync of attach and detach: minutes. Run in a folder of its own:
#   GPUREADY=.../src/gpuready SOURCE=... VM_BASE=.../vm-base bash $SOURCE/tests/vm/power_cuts.sh
. "$SOURCE/tests/vm/cuts.sh"
boot count "${disk[@]}" <<'END'
. /cuts.sh
echo "attach=$(count_fsyncs attach)"
echo "detach=$(count_fsyncs detach)"
END
expect_passed count
cuts=
for operation in attach detach; do
  count=$(sed -n "s/^$operation=\([0-9]*\).*/\1/p" count.log)
  [ "${count:-0}" -gt 0 ] || die "no fsync of $operation was counted"
  echo "$operation: $count fsyncs"
  for ((at = 1; at <= count; ++at)); do
    for when in before after; do cuts+=" $operation,$when,$at"; done
  done
done
export cuts
bash "$SOURCE/tests/vm/power_cut.sh"
echo "recovered from $(wc -w <<<"$cuts") power cuts of $(wc -w <<<"$cuts")"
