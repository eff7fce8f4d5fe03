. "$LIB"
# The same line again, as cron runs it: its file holds a search that has ended, and says nothing of today.
slow() { code=0; "$GPUREADY" fleet slow --nodes 'n[1-16]' --results rates.txt --command "$@" >out.txt 2>err.txt || code=$?; }
rm -f rates.txt started
slow 'echo {a} {b} 300'
[ $code -eq 0 ] || die "exit $code: $(cat out.txt err.txt)"
touch -d 2026-03-01T12:00:00Z rates.txt
slow 'echo >>started; case "{a} {b}" in *n3*) echo 30;; *) echo 300;; esac' --json=found.json
[ $code -eq 4 ] && [ ! -e started ] || die "exit $code: $(cat out.txt err.txt)"
tr -s '\n ' ' ' <out.txt | grep -q "Nothing was measured now, because this search has ended: [0-9]* rounds of rates.txt were measured before 2026-03-01T12:00:00Z. For a new search, remove the file" || die "$(cat out.txt)"
[ "$(python3 -c "import json; print(json.load(open('found.json'))['fleet']['ended'])")" = ended_before ] || die "$(cat found.json)"
# Without a command the file is what other tools measured.
code=0; "$GPUREADY" fleet slow --nodes 'n[1-16]' --results rates.txt >out.txt || code=$?
[ $code -eq 0 ] || die "exit $code: $(cat out.txt)"
# What continues says what is old.
sed -i '/^[2-9]/d' rates.txt
slow 'case "{a} {b}" in *n3|*n3\ *) echo 30;; *) echo 300;; esac'
[ $code -eq 1 ] && tr -s '\n ' ' ' <out.txt | grep -q "1 round of rates.txt was measured before 20" || die "exit $code: $(cat out.txt)"
# A file that cannot be written is an error before anything is measured.
rm -f started
code=0; "$GPUREADY" fleet slow --nodes 'n[1-4]' --results rates.txt/rates.txt --command 'echo >>started; echo {a} {b} 300' >out.txt 2>err.txt || code=$?
[ $code -ne 0 ] && [ ! -e started ] && grep -q rates.txt/rates.txt err.txt || die "exit $code: $(cat out.txt err.txt)"
