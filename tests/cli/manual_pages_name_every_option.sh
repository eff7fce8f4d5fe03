. "$LIB"
pages=$("$GPUREADY" __pages)
expect_in "gpuready.1" "$pages"
count=0
mkdir -p manuals
for page in $(grep '^gpuready.*\.1$' <<<"$pages"); do
  "$GPUREADY" __pages "$page" >"manuals/$page"
  sed 's/\\-/-/g; s/\\f[BIR]//g' "manuals/$page" >page
  command=$(sed -n '/^\.SH SYNOPSIS/{n;p}' page | sed 's/^gpuready//; s/ [[A-Z].*//')
  read -ra words <<<"$command"
  wide=$("$GPUREADY" "${words[@]}" --help | awk 'length($0) > 80')
  [ -z "$wide" ] || die "the help of $command is wider than 80 columns: $wide"
  for option in $("$GPUREADY" "${words[@]}" --help | grep -oE '^  (-[a-zA-Z],)?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
    [ "$option" != --help ] || continue
    grep -qE -- "^(.*, )?$option\b" page || die "$page has no $option"
    count=$((count + 1))
  done
done
if command -v man >/dev/null; then
  wide=$(MANWIDTH=80 man -l manuals/*.1 | awk 'length($0) > 80')
  [ -z "$wide" ] || die "manual pages are wider than 80 columns: $wide"
fi
[ "$count" -ge 40 ] || die "only $count options were compared"
expect_exit 2 "$GPUREADY" __pages no-such-page
