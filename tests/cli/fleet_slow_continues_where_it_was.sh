. "$LIB"
# A round measured by other tools, from a plan; then an interrupted round; then the rest.
slow() { code=0; "$GPUREADY" fleet slow --nodes 'n[1-32]' --results rates.txt "$@" >out.txt 2>err.txt || code=$?; }
rate='case "{a} {b}" in *n9|n9\ *) echo 90;; *) echo 100;; esac'
rm -f rates.txt started
slow --plan
[ $code -eq 0 ] && [ "$(grep -c "^1 n[0-9]* n[0-9]*$" out.txt)" = 16 ] || die "exit $code: $(cat out.txt err.txt)"
[ ! -e rates.txt ] || die "a plan wrote $(cat rates.txt)"
awk '/^1 /{print $0, ($2 == "n9" || $3 == "n9") ? 90 : 100}' out.txt >rates.txt
cp rates.txt first.txt
"$GPUREADY" fleet slow --nodes 'n[1-32]' --results rates.txt --command 'touch started; sleep 60; echo {a}{b}' >out.txt 2>err.txt &
for _ in $(seq 200); do [ ! -e started ] || break; sleep 0.05; done
kill -INT $!
code=0; wait $! || code=$?
[ $code -eq 130 ] || die "interrupted: exit $code"
grep -v '^#' rates.txt | diff - first.txt || die "the interrupted round counts"
slow
[ $code -eq 4 ] && grep -q "undecided" out.txt || die "after one round: exit $code: $(cat out.txt)"
slow --command "$rate"
[ $code -eq 1 ] && grep -q "node n9: 90.0%" out.txt || die "exit $code: $(cat out.txt err.txt)"
grep -v '^#' rates.txt | head -n 16 | diff - first.txt || die "the first round was not kept"
slow --plan
[ $code -eq 1 ] && grep -q "node n9" out.txt || die "a plan after the end: exit $code: $(cat out.txt)"
for bad in --command\ 'echo {a}' "--nodes n[1-"; do
  code=0; "$GPUREADY" fleet slow --nodes 'n[1-32]' $bad >out.txt 2>err.txt || code=$?
  [ $code -eq 2 ] || die "$bad: exit $code"
done
echo "1 n1 n1 5" >rates.txt
slow
[ $code -eq 2 ] && grep -q "rates.txt, line 1: n1 is in this round twice" err.txt || die "$(cat err.txt)"
