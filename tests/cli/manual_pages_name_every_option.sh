. "$LIB"
pages=$("$GPUREADY" __pages)
expect_in "gpuready.1" "$pages"
count=0
for page in $(grep '^gpuready-.*\.1$' <<<"$pages"); do
  "$GPUREADY" __pages "$page" | sed 's/\\-/-/g; s/\\f[BIR]//g' >page
  command=$(sed -n '/^\.SH SYNOPSIS/{n;p}' page | sed 's/^gpuready //; s/ [[A-Z].*//')
  read -ra words <<<"$command"
  wide=$("$GPUREADY" "${words[@]}" --help | awk 'length($0) > 80')
  [ -z "$wide" ] || die "the help of $command is wider than 80 columns: $wide"
  for option in $("$GPUREADY" "${words[@]}" --help | grep -oE '^ +(-[a-zA-Z],)?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
    [ "$option" != --help ] || continue
    grep -qE -- "^(.*, )?$option\b" page || die "$page has no $option"
    count=$((count + 1))
  done
done
[ "$count" -ge 40 ] || die "only $count options were compared"
expect_exit 2 "$GPUREADY" __pages no-such-page
