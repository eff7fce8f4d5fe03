. "$LIB"
# A controller in a file: the node's state and reason.
node() { printf '%s\n%s\n' "$1" "${2:-}" >slurm; }
cat >scontrol <<'END'
#!/bin/sh
{ read -r state; read -r reason; } <slurm
case $1-$3 in
  show-*) echo "NodeName=n1 X=1"; echo "   State=$state Y=1"; echo "   Reason=$reason [root@2026-11-26T04:01:02]" ;;
  update-State=DRAIN) printf 'IDLE+DRAIN\n%s\n' "${4#Reason=}" >slurm ;;
  update-State=RESUME) printf 'IDLE\n\n' >slurm ;;
esac
END
chmod +x scontrol
sed -i 's/Reason=$reason /Reason=${reason:-(null)} /' scontrol
scontrol=$PWD/scontrol
rm -rf kept; mkdir kept; chmod 755 kept
bad=$MACHINES/driver-not-loaded/machine.json good=$MACHINES/base-h100x1/machine.json
health() { expect_exit "$1" "$GPUREADY" slurm health --node n1 --folder kept --scontrol "$scontrol" "${@:2}"; }
node IDLE
health 1 --replay "$bad"
expect_in "node n1 would be drained: gpuready: rehearsal: " "$out"
[ "$(head -1 slurm)" = IDLE ] || die "a recording drained a node"
health 1 --replay "$bad" --rehearse
expect_in "node n1 drained: gpuready: rehearsal: " "$out"
expect_in "gpuready: rehearsal: " "$(cat slurm)"
health 1 --replay "$bad" --rehearse
expect_in "drained already" "$out"
sleep 1 # a look that began in the second of the drain may have been before it
health 0 --replay "$good" --rehearse
[ "$(head -1 slurm)" = IDLE ] || die "not resumed: $out"
# Reasons of others, and one that somebody edited.
health 1 --replay "$bad" --rehearse
sed -i 's/(/ticket (/' slurm
before=$(cat slurm)
health 0 --replay "$good" --rehearse
health 1 --replay "$bad" --rehearse
[ "$(cat slurm)" = "$before" ] || die "a foreign reason was touched: $(cat slurm)"
# A healthy node that was not drained asks Slurm nothing.
rm -r kept/*
scontrol=/bin/false health 0 --replay "$good" --rehearse
# Slurm that does not answer, and one that fails.
node IDLE
printf '#!/bin/sh\nexec sleep 60\n' >scontrol
SECONDS=0
health 1 --replay "$bad" --rehearse
[ $SECONDS -le 15 ] || die "$SECONDS s"
expect_in "no answer within 6 s" "$out"
printf '#!/bin/sh\necho slurm_load_node error >&2; exit 1\n' >scontrol
health 1 --replay "$bad" --rehearse
expect_in "scontrol show failed: slurm_load_node error" "$out"
