# Packages that exist as .tar.gz become a release that install takes with every guarantee; what is wrong with one
# is refused by name, and nothing is written outside.
source "$LIB"
export HOME=$PWD/home
rm -rf home *.tar.gz *.zip release key.* outside && mkdir home
"$GPUREADY" pack key key --no-password -q >/dev/null
cat >make.py <<'P'
import io, tarfile, zipfile
def ptx(sm, isa="6.0"):
    return f".version {isa}\n.target sm_{sm}\n.address_size 64\n.visible .entry k()\n{{\n  ret;\n}}\n\0".encode()
def member(name, **how):
    info = tarfile.TarInfo(name)
    for key, value in how.items(): setattr(info, key, value)
    return info
def pack(name, *members):
    with tarfile.open(name, "w:gz") as archive:
        for one in members:
            info, data = one if isinstance(one, tuple) else (one, b"")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
legacy = ptx(50) + ptx(60)
pack("gpu-libs-legacy.tar.gz", member("./libs", type=tarfile.DIRTYPE),
     (member("./libs/code.so.1", mode=0o755), legacy), member("libs/code.so", type=tarfile.SYMTYPE, linkname="code.so.1"),
     member("libs/again.so", type=tarfile.LNKTYPE, linkname="./libs/code.so.1"), (member("data"), b"same"))
pack("gpu-libs-modern.tar.gz", (member("libs/code.so.1"), ptx(75, "6.3") + ptx(86, "7.1")), (member("libs/more.so"), ptx(80, "7.0")), (member("data"), b"same"))
pack("gpu-libs-cpu.tar.gz", (member("data"), b"same"))
file = (member("a"), b"1")
pack("out-x.tar.gz", file, (member("../outside"), b"1"))
pack("absolute-x.tar.gz", (member("/tmp/outside"), b"1"))
pack("link-x.tar.gz", member("l", type=tarfile.SYMTYPE, linkname="../../outside"))
pack("below-x.tar.gz", (member("d/f"), b"1"), member("l", type=tarfile.SYMTYPE, linkname="d"), (member("l/outside"), b"1"))
pack("hard-x.tar.gz", member("h", type=tarfile.LNKTYPE, linkname="/etc/passwd"))
pack("device-x.tar.gz", member("null", type=tarfile.CHRTYPE))
pack("twice-x.tar.gz", file, file)
pack("driver-x.tar.gz", (member("libs/libcuda.so.1"), b"1"))
pack("apart-x.tar.gz", (member("one.so"), ptx(90, "8.0")), (member("two.so"), ptx(75, "6.3").replace(b".target sm_75", b".target sm_90a")))
pack("neither-x.tar.gz", (member("one.so"), ptx("90a", "8.0")), (member("two.so"), ptx("100a", "8.6")))
open("cut-x.tar.gz", "wb").write(open("gpu-libs-legacy.tar.gz", "rb").read()[:150])
pack("bomb-x.tar.gz", (member("zeros"), bytes(100 << 20)))
open("no-x.tar.gz", "w").write("not an archive\n")
with zipfile.ZipFile("libs-zip.zip", "w") as z: z.writestr("libs/code.so", ptx(75, "6.3"))
P
python3 make.py
adopt() { "$GPUREADY" pack adopt "$@" --name seed-libs --key key.key --to release; }
expect_exit 0 adopt gpu-libs-*.tar.gz --version 1.0 --json=adopted.json
architectures() { jq -r --arg v "$1" '.variants[] | select(.name == $v) | (.architectures // []) | join(" ")' release/manifest.json; }
[ "$(architectures legacy)" = "50-virtual 60-virtual" ] || die "legacy: $(architectures legacy)"
# Not every file of modern has code that a 7.5 loads.
[ "$(architectures modern)" = "80-virtual 86-virtual" ] || die "modern: $(architectures modern)"
[ "$(architectures cpu)" = "" ] || die "cpu: $(architectures cpu)"
chosen() { "$GPUREADY" pack select release --key key.pub --gpu "$1" --json - | jq -r '.variants | join("+")'; }
[ "$(chosen 6.1) $(chosen 7.5) $(chosen 8.6) $(chosen none)" = "legacy legacy modern cpu" ] || die "$(chosen 6.1) $(chosen 7.5) $(chosen 8.6) $(chosen none)"
expect_exit 0 "$GPUREADY" pack install release --key key.pub --variant legacy --no-load-test
current=home/.local/share/seed-libs/gpu-libs/current
[ "$(readlink $current/libs/code.so)" = code.so.1 ] || die "the link is lost"
cmp $current/libs/again.so $current/libs/code.so.1 || die "the hard link is lost"
[ "$(stat -c %a $(readlink -f $current/libs/code.so.1)) $(stat -c %a $(readlink -f $current/data))" = "555 444" ] || die "the modes are lost"
expect_exit 0 "$GPUREADY" pack verify seed-libs
expect_exit 2 adopt gpu-libs-*.tar.gz --version 1.0
expect_in "is not above 1.0" "$err"
expect_exit 0 adopt one=gpu-libs-legacy.tar.gz libs-zip.zip --version 1.1
expect_exit 2 adopt a=gpu-libs-legacy.tar.gz a=gpu-libs-cpu.tar.gz --version 1.2
expect_in "two archives are the variant a" "$err"

refused() { expect_exit 2 adopt "$1-x.tar.gz" --version 2.0; expect_in "$2" "$(echo $err)"; }
refused out "../outside: a path in a package has no"
refused absolute "does not begin with '/'"
refused link "the link to ../../outside leaves the package"
refused below "l/outside: l, which it lies below, is a link"
refused hard "a hard link to /etc/passwd, which is not a file"
refused device "null: it is a device"
refused twice "a: the archive holds this name twice"
refused driver "a library of the driver"
refused neither "no GPU of NVIDIA's loads all of its 2 files with device code"
refused cut "cut-x.tar.gz"
refused bomb "unpacks to more than 200 times its size"
refused no "not an archive"
[ ! -e outside ] && [ ! -e /tmp/outside ] && [ ! -e release/outside ] || die "something was left"
expect_exit 2 adopt driver-x.tar.gz --version 2.0 --exclude "**/libcuda.so*"
expect_in "holds no file" "$err"

# A library that is needed and missing: refused, or told.
if command -v cc >/dev/null; then
  echo 'int two(void) { return 2; }' >two.c && cc -shared -fPIC -o libtwo.so two.c
  echo 'int two(void); int one(void) { return two(); }' >one.c && cc -shared -fPIC -o libone.so one.c -L. -ltwo
  tar czf gap-cpu.tar.gz libone.so
  expect_exit 2 adopt gap-cpu.tar.gz --version 3.0
  expect_in "libtwo.so" "$err"
  expect_in "stays in release/.gpuready-adopt" "$err"
  expect_exit 2 adopt gap-cpu.tar.gz --version 3.0 --waive 'libone.so=' && expect_in "write FILE=REASON" "$err"
  expect_exit 2 adopt gap-cpu.tar.gz --version 3.0 --waive 'libone.so=, of the machine' --waive 'x=nothing'
  expect_in "waiver of x: nothing needs it" "$err"
  expect_exit 0 adopt gap-cpu.tar.gz --version 3.0 --waive 'libone.so=, of the machine' --json=gaps.json
  for text in "$(jq -r '.gaps[]' gaps.json)" "$(cat release/seed-libs-3.0.md)"; do
    expect_in "libtwo.so" "$text"; expect_in "(accepted: , of the machine)" "$text"
  done
  [ ! -e release/.gpuready-adopt ] || die "unpacked files stay"
fi

# Models, floors and names of a recipe. What init writes for a folder is such a recipe.
mkdir -p built && tar xzf gpu-libs-modern.tar.gz -C built
expect_exit 0 "$GPUREADY" pack init modern=built --name seed-libs --out pack.toml
expect_in 'architectures = ["80-virtual", "86-virtual"]' "$(cat pack.toml)"
expect_exit 0 "$GPUREADY" pack build --out out
printf 'floors.driver = "560"\nmodels = [{ name = "large", free_mb = 6000 }]\n' | cat - pack.toml >with.toml
recipe() { "$GPUREADY" pack adopt --recipe with.toml --key key.key --to release "$@"; }
expect_exit 2 recipe gpu-libs-legacy.tar.gz --version 4.0
expect_in "the archive of variant modern is missing" "$err"
expect_exit 2 recipe gpu-libs-modern.tar.gz
expect_in "version 0.1.0 is not above" "$err"
expect_exit 0 recipe gpu-libs-modern.tar.gz --version 4.0
[ "$(jq -c '[.models[0].name, .variants[0].floors.driver]' release/manifest.json)" = '["large","560"]' ] || die "$(cat release/manifest.json)"

# Its folders are not used, so variants may share one; for a build they may not.
cat >shared.toml <<'T'
name = "seed-libs"
version = "5.0"
folder = "nowhere"
variants.legacy.architectures = ["50-virtual", "60-virtual"]
variants.modern.architectures = ["80-virtual", "86-virtual"]
T
expect_exit 0 "$GPUREADY" pack adopt --recipe shared.toml --key key.key --to release gpu-libs-{legacy,modern}.tar.gz
[ "$(architectures legacy), $(architectures modern)" = "50-virtual 60-virtual, 80-virtual 86-virtual" ] || die "$(cat release/manifest.json)"
expect_exit 2 "$GPUREADY" pack build shared.toml --out shared
expect_in "variants legacy and modern hold the same files of" "$err"
