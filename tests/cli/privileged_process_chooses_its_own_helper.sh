. "$LIB"
# A set-user-ID program must not start what the caller's environment names (secure_getenv).
[ "$(id -u)" -eq 0 ] || skip "needs root to make a set-user-ID program"
cat >helper <<'EOF'
#!/bin/sh
echo started >>"$0.started"
EOF
chmod 755 helper
rm -f helper.started; touch helper.started; chmod 666 helper.started; chmod 755 .
GPUREADY_HELPER=$PWD/helper "$GPUREADY" record ordinary.tar.zst -q 2>/dev/null || true
[ -s helper.started ] || skip "nothing is probed on this machine"
: >helper.started
cp "$GPUREADY" privileged && chown nobody privileged && chmod 4755 privileged
chmod 777 .
GPUREADY_HELPER=$PWD/helper ./privileged record privileged.tar.zst -q 2>/dev/null || true
chmod 755 .
[ ! -s helper.started ] || die "the caller's helper was started"
rm -f privileged
