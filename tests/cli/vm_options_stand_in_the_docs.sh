# Every option of `gpuready vm ...` stands in docs/vm*.md, and no page names one that is not there.
. "$LIB"
own="list|show|plan|attach|detach|args|plug|unplug|status|recover|doctor|initrd|compat"
everywhere=" --help --quiet --no-color --no-colour --version --json --replay "
known=$everywhere
for command in ${own//|/ } "drivers collect" "drivers list" "drivers show" "drivers verify" "drivers fetch" "drivers upgrade"; do
  expect_exit 0 "$GPUREADY" vm $command --help
  for option in $(grep -E '^  -' <<<"$out" | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u); do
    known+="$option "
    case $everywhere in *" $option "*) continue ;; esac
    grep -qE -- "$option([^a-z0-9-]|$)" "$SOURCE"/docs/vm*.md || die "docs/vm*.md do not name $option of vm $command"
  done
done
for option in $(grep -hoE -- "gpuready vm [^|]*" "$SOURCE"/docs/vm*.md | grep -oE -- '(^| |`)--[a-z][a-z0-9-]+' | tr -d '` ' | sort -u); do
  case $known in *" $option "*) ;; *) die "docs/vm*.md name $option, which no command has" ;; esac
done
