# The state of the repository is recorded, and nothing that the repository, a variable or a user's configuration names runs.
. "$LIB"
command -v git >/dev/null || skip "no git"
here=$PWD/work && rm -rf "$here" && mkdir -p "$here"/{home,plain,repo/sub} && cd "$here/repo"
mark=$here/ran
printf '#!/bin/sh\necho "$0 $*" >>%s\ncat\n' "$mark" >"$here/evil" && chmod +x "$here/evil"
plain() { env -i PATH="$PATH" HOME="$here/plain" git -c user.name=a -c user.email=a@b -c init.defaultBranch=main "$@"; }
for repository in . sub; do
  (cd $repository && plain init -q && echo 1 >file && plain add file && plain commit -qm one)
done
echo 'file filter=evil' >.gitattributes && plain add .gitattributes
plain update-index --add --cacheinfo "160000,$(cd sub && plain rev-parse HEAD),sub" && plain commit -qm two
commit=$(plain rev-parse HEAD)
for repository in . sub; do
  (cd $repository && plain config core.fsmonitor "$here/evil" && plain config core.hooksPath "$here/hooks")
done
mkdir "$here/hooks" && cp "$here/evil" "$here/hooks/post-index-change"
plain config filter.evil.clean "$here/evil"
plain -C sub config filter.other.clean "$here/evil" && echo 'file filter=other' >sub/.git/info/attributes
printf '[trace2]\n\tnormalTarget = %s\n' "$mark" >"$here/home/.gitconfig"
touch -d '1 hour ago' file sub/file
record() { # VARIABLE=VALUE... : the record of a run with these
  expect_exit 0 env -u SUDO_UID HOME="$here/home" "$@" "$GPUREADY" bench run --device cpu --stack gpuready --task gemm --m 16 --n 16 \
    --k 16 --repeats 1 --iters 1 --warmup 0 --max-seconds 0.05 --no-check --results "$here/results"
  cat "$(ls -t "$here"/results/*/run.json "$here"/results/*.json 2>/dev/null | head -1)"
}
expect_in "\"git_commit\": \"$commit\"" "$(record)"
[ ! -e "$mark" ] || die "ran: $(cat "$mark")"
# Variables of git's own.
expect_in "\"git_commit\": \"$commit\"" "$(record GIT_DIR="$here/repo/sub/.git" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor \
  GIT_CONFIG_VALUE_0="$here/evil" GIT_TRACE2="$mark" GIT_EXTERNAL_DIFF="$here/evil")"
[ ! -e "$mark" ] || die "ran through a variable: $(cat "$mark")"
# A bare repository within does not count: its configuration may have come with the files.
plain init -q --bare bare && plain -C bare fetch -q ../sub HEAD:refs/heads/main
other=$(cd sub && plain rev-parse HEAD)
expect_not_in "$other" "$(cd bare && record)"
# What is missing is not fetched.
plain config protocol.ext.allow always && plain config remote.origin.url "ext::$here/evil %S"
plain config remote.origin.promisor true && plain config extensions.partialClone origin && plain config core.repositoryFormatVersion 1
tree=$(plain rev-parse 'HEAD^{tree}') && rm -f ".git/objects/${tree:0:2}/${tree:2}"
record >/dev/null
[ ! -e "$mark" ] || die "fetched: $(cat "$mark")"
# Git is not asked about another user's repository, whoever called sudo.
[ "$(id -u)" = 0 ] || exit 0
chown -R 4711 "$here/repo"
expect_not_in "$commit" "$(record SUDO_UID=4711)"
[ ! -e "$mark" ] || die "ran of another user: $(cat "$mark")"
