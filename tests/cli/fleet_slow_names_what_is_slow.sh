. "$LIB"
# Of 64 nodes on eight leaf switches: n13 is slow, so are the uplinks of leaf3 (n17 to n24), and n40 is dead.
for i in 1 2 3 4 5 6 7 8; do echo "SwitchName=leaf$i Nodes=n[$((i * 8 - 7))-$((i * 8))]"; done >topology.conf
cat >pair.sh <<'EOF'
rate=1000
a=${1#n} b=${2#n}
for node in $a $b; do
  [ $node != 40 ] || { printf "%s\n" ----- "n40 does not answer" ----- >&2; exit 1; }
  [ $node != 13 ] || rate=880
done
if [ $(((a - 1) / 8)) != $(((b - 1) / 8)) ]; then
  for node in $a $b; do [ $(((node - 1) / 8)) != 2 ] || rate=890; done
fi
echo "{\"rate\": $((rate + (a * 31 + b * 17 + RANDOM) % 21 - 10))}"
EOF
code=0
"$GPUREADY" fleet slow --topology topology.conf --command 'bash pair.sh {a} {b}' --json=found.json --md found.md >out.txt || code=$?
[ $code -eq 1 ] || die "exit $code, not 1: $(cat out.txt)"
found() { python3 -c "import json; d = json.load(open('found.json'))['fleet']; print($1)"; }
[ "$(found "sorted((p['kind'], p['name']) for p in d['slow'])")" = "[('group', 'leaf3'), ('node', 'n13')]" ] || die "$(cat out.txt)"
[ "$(found "d['unknown'], d['left'], d['ended']")" = "['n40'] [] settled" ] || die "$(cat out.txt)"
[ "$(found "all(abs(p['share'] - 0.885) < 0.03 for p in d['slow'])")" = True ] || die "$(cat out.txt)"
[ "$(found "d['rounds'] <= 9 and 'n40 does not answer' in d['failures'][0]['reason']")" = True ] || die "$(cat found.json)"
grep -q "group leaf3: 8[89]\.[0-9]% of the usual rate" out.txt || die "$(cat out.txt)"
grep -q "1 slow node, 1 slow group among 64 nodes; 1 unknown" found.md || die "$(cat found.md)"
