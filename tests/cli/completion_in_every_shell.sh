. "$LIB"
mkdir -p bin files
ln -sf "$GPUREADY" bin/gpuready
PATH=$PWD/bin:$PATH
touch files/machine.tar.zst
for script in gpuready.bash _gpuready gpuready.fish; do "$GPUREADY" __pages $script >$script; done
# As bash breaks words: also at "=".
in_bash() {
  bash -c '. ./gpuready.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuready; echo "${COMPREPLY[*]}"' _ "$@"
}
same() { [ "$1" = "$2" ] || die "'$1' instead of '$2'"; }
same "$(in_bash gpuready det)" detect
same "$(in_bash gpuready doctor --rep)" --replay
same "$(in_bash gpuready ternary ver)" verify
same "$(in_bash gpuready check --level "")" "quick standard thorough"
same "$(in_bash gpuready check --level = st)" standard
same "$(in_bash gpuready check --level =)" "quick standard thorough"
same "$(in_bash gpuready doctor --replay files/)" files/machine.tar.zst
same "$(in_bash gpuready doctor --json = files/m)" files/machine.tar.zst
if command -v fish >/dev/null; then
  in_fish() { HOME=$PWD fish --no-config -c 'source gpuready.fish; complete -C "$argv"' -- "$@" | cut -f1 | xargs; }
  same "$(in_fish "gpuready det")" detect
  same "$(in_fish "gpuready check --level ")" "quick standard thorough"
  same "$(in_fish "gpuready check --level=st")" "--level=standard"
  same "$(in_fish "gpuready doctor --replay files/")" files/machine.tar.zst
fi
if command -v zsh >/dev/null; then
  # What the function hands to zsh's own: _describe, _files and compset.
  in_zsh() {
    zsh -fc '_describe() { print -l -- "${(P@)@[-1]}"; }; _files() { print files; }; compset() { :; }; compdef() { :; }
      words=("$@"); CURRENT=$#; . ./_gpuready; _gpuready' _ "$@" | cut -d: -f1 | xargs
  }
  same "$(in_zsh gpuready det)" detect
  same "$(in_zsh gpuready check --level "")" "quick standard thorough"
  same "$(in_zsh gpuready check --level=st)" "--level=standard"
  same "$(in_zsh gpuready doctor --replay "")" files
fi
