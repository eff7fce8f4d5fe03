# Each option of each pack command stands in the pages about packages, and nothing stands in their table that no
# command has.
source "$LIB"
pages=$(cat "$SOURCE/docs/pack.md" "$SOURCE/docs/pack-release.md")
table=$(sed -n '/^## Every option/,$p' "$SOURCE/docs/pack.md")
commands=$("$GPUREADY" pack --help | sed -nE '/^SUBCOMMANDS|^Subcommands/,$s/^  ([a-z]+) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 13 ] || die "the commands of pack: $commands"
all=
for command in $commands; do
  options=$("$GPUREADY" pack "$command" --help | grep -oE '^ +(-[a-z],)?--[a-z-]+(,--[a-z-]+)?' | grep -oE -- '--[a-z-]+')
  for option in $options; do
    [[ "$pages" =~ "$option"[^a-z-] ]] || die "no page names $option of pack $command"
  done
  all="$all $options"
done
for option in $(grep -oE -- '--[a-z-]+' <<<"$table" | grep -vE '^-+$' | sort -u); do
  [[ " $(echo $all) " == *" $option "* ]] || die "no pack command has $option"
done
