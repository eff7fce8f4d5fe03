# Kills and power cuts at random: at an fsync of attach or detach, or at any time. After each, recover brings everything
# to a whole state: random_cuts.sh [CUTS [SEED]]. By hand: 200 take half an hour on a busy machine. Run in a folder of its own
# with $GPUREADY, $SOURCE and $VM_BASE.
. "$SOURCE/tests/vm/cuts.sh"
wanted=${1:-200} seed=${2:-$RANDOM} kills_a_boot=5
RANDOM=$seed
cat >>"$extra/cuts.sh" <<'END'
# cut OPERATION HOW WHEN: WHEN is before,N or after,N of an fsync, or a time in milliseconds.
cut() {
  [ $1 = attach ] || gpuready vm attach $card --for guest >/dev/null 2>&1
  case $3 in
  *,*) CUT_AT=${3#*,} CUT_WHEN=${3%,*} CUT_HOW=$2 operate $1 >/dev/null 2>&1 || true ;;
  *)
    case $1 in # not by operate, whose process is a shell
    attach) gpuready vm attach $card --for guest >/dev/null 2>&1 & ;;
    detach) gpuready vm detach --for guest >/dev/null 2>&1 & ;;
    esac
    process=$!
    usleep $(($3 * 1000))
    if [ $2 = power ]; then echo b >/proc/sysrq-trigger; fi
    kill -9 $process 2>/dev/null || echo "it had ended"
    wait $process || true ;;
  esac
}
END
draw() { # what, and when
  local operations=(attach detach) when=(before after)
  operation=${operations[RANDOM % 2]}
  moment=$((RANDOM % 1500))
  [ $((RANDOM % 2)) = 0 ] || moment=${when[RANDOM % 2]},$((RANDOM % 11 + 1))
}
done=0 kills=0 powers=0 number=0
while [ $done -lt "$wanted" ]; do
  script=$'. /cuts.sh\nwhole_again\necho "whole at the start"\n'
  count=0
  while [ $count -lt $kills_a_boot ] && [ $((done + count + 1)) -lt "$wanted" ]; do
    draw
    script+="cut $operation kill $moment; whole_again; echo 'whole after $operation kill $moment'"$'\n'
    count=$((count + 1))
  done
  draw
  script+="echo 'power goes: $operation $moment'; sync; cut $operation power $moment; sync; echo b >/proc/sysrq-trigger; sleep 60"
  limit_s=600 boot "random$number" "${disk[@]}" <<<"$script"
  log=random$number.log
  [ "$(grep -c 'whole a[ft]' "$log")" = $((count + 1)) ] && grep -q 'power goes' "$log" ||
    { tail -30 "$log"; die "not whole after cut $done or later; seed $seed, $log"; }
  done=$((done + count + 1)) kills=$((kills + count)) powers=$((powers + 1)) number=$((number + 1))
  echo "$done of $wanted"
done
boot random_end "${disk[@]}" <<<$'. /cuts.sh\nwhole_again'
expect_passed random_end
echo "whole after $kills kills and $powers power cuts at random (seed $seed; $(cat random*.log | grep -c 'it had ended') came after the end)"
