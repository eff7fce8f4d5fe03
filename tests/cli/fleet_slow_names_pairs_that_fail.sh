. "$LIB"
# Of 8 nodes one pair gives no answer, wrong values, or output without one rate.
cat >pair.sh <<'EOS'
rate="# Out of bounds values : 0 OK
# Avg bus bandwidth    : 300.5"
if [ "$2 $3" = "n1 n7" ] || [ "$2 $3" = "n7 n1" ]; then
  echo >>tries
  case $1 in
    dead) echo "no route" >&2; exit 1 ;;
    wrong) printf '# Out of bounds values : 3 FAILED\n# Avg bus bandwidth : 300.5\n'; exit 1 ;;
    once) [ $(wc -l <tries) -gt 1 ] || { printf '# Out of bounds values : 3 FAILED\n'; exit 1; } ;;
    twice) rate="$rate
$rate" ;;
    cut) head -c 1100000 /dev/zero | tr '\0' '7'; echo ;;
  esac
fi
echo "$rate"
EOS
found() { python3 -c "import json; d = json.load(open('found.json'))['fleet']; print($1)"; }
for row in "dead 4 3 0" "wrong 1 3 3" "once 4 1 1" "twice 4 3 0" "cut 4 3 0"; do
  set -- $row
  rm -f tries; code=0
  "$GPUREADY" fleet slow --nodes 'n[1-8]' --command "bash pair.sh $1 {a} {b}" --results $1.txt --json=found.json >out.txt || code=$?
  [ $code -eq $2 ] || die "$1: exit $code, not $2: $(cat out.txt)"
  [ "$(found "[(p['kind'], p['name'], p['other'], p['failed'], p['wrong']) for p in d['failing']]")" = "[('link', 'n1', 'n7', $3, $4)]" ] ||
    die "$1: $(cat out.txt)"
  [ "$(found "d['slow'], d['unknown'], d['left']")" = "[] [] []" ] || die "$1: $(cat out.txt)"
done
[ "$(grep -c ' wrong$' wrong.txt)" = 3 ] && [ "$(grep -c ' -$' dead.txt)" = 3 ] || die "$(cat wrong.txt dead.txt)"
code=0; "$GPUREADY" fleet slow --nodes 'n[1-8]' --results wrong.txt >out.txt || code=$?
[ $code -eq 1 ] && grep -q "link n1 - n7: 3 of 3 measurements had wrong values" out.txt || die "exit $code: $(cat out.txt)"
# A node that gives wrong values with all others.
code=0
"$GPUREADY" fleet slow --nodes 'n[1-8]' --command 'case "{a} {b}" in *n3*) echo "# Out of bounds values : 1 FAILED";; *) echo 300;; esac' >out.txt || code=$?
[ $code -eq 1 ] && grep -q "node n3: .* had wrong values; with n" out.txt && ! grep -q "never answered" out.txt || die "exit $code: $(cat out.txt)"
# Outside a job, srun would wait for nodes of its own.
expect_exit 2 env -u SLURM_JOB_ID "$GPUREADY" fleet slow --nodes 'n[1-8]' --runner slurm
expect_in "salloc --exclusive --nodelist=NODES" "$err"
