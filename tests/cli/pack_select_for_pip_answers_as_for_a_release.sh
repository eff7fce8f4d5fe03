# `pack select torch --format pip-index` chooses as `pack select` does from a release of the same code, on machines whose
# GPUs differ, too: standard output has what pip is given, standard error which GPUs need another build, or have none.
source "$LIB"
rm -rf source built release key.* && mkdir -p source/{cu132,cu126,cu128,cpu}
cubin() { /usr/bin/python3 "$SOURCE/tests/cli/cubin.py" "source/$1/lib.bin" "${@:2}"; }
cubin cu132 75 80 86 90 100 120+ptx@9.0
cubin cu126 50 60 70 75 80 86 90
cubin cu128 100 120
echo cpu >source/cpu/file
# Of those that serve as well, pip's is the newest, and a release's the smallest.
head -c 1000 /dev/zero >source/cu126/older && head -c 2000 /dev/zero >source/cu128/older
cat >pack.toml <<'T'
name = "torch"
version = "1"
folder = "source/{variant}"
[variants.cu132]
architectures = ["75", "80", "86", "90", "100", "120"]
floors = { driver = "580.65.06", cudnn = "9.11" }
[variants.cu126]
architectures = ["50", "60", "70", "75", "80", "86", "90"]
floors = { driver = "525.60.13", cudnn = "9.10" }
[variants.cu128]
architectures = ["100", "120"]
floors = { driver = "525.60.13", cudnn = "9.10" }
[variants.cpu]
T
"$GPUREADY" pack key key --no-password -q
expect_exit 0 "$GPUREADY" pack build --out built
expect_exit 0 "$GPUREADY" pack publish --built built --to release --key key.key
pip() { expect_exit 0 "$GPUREADY" pack select torch --format pip-index "$@"; }
url=https://download.pytorch.org/whl

cases=0
for gpus in none 3.5 6.1 8.6 9.0 12.0 6.1,9.0 8.6,12.0 6.1,12.0 7.0,10.0 3.5,9.0 3.5,6.1,12.0 5.2,8.9,12.1; do
  for driver in 470.82 570.26 580.65.06; do
    machine=(--gpu "$gpus" --driver "$driver")
    expect_exit 0 "$GPUREADY" pack select release --key key.pub "${machine[@]}" --json=release.json
    pip "${machine[@]}" --json=pip.json
    for what in .variants .for_cpu .unserved '[.considered[] | select(.chosen) | {name, serves}] | sort'; do
      [ "$(jq -c "$what" release.json)" = "$(jq -c "$what" pip.json)" ] ||
        die "$gpus on $driver: $what is $(jq -c "$what" release.json) of a release, $(jq -c "$what" pip.json) for pip"
    done
    pip "${machine[@]}"
    expect_in "torch --index-url $url/$(jq -r '.variants[0]' pip.json)" "$out"
    cases=$((cases + 1))
  done
done
[ "$cases" = 39 ] || die "$cases machines"

said=$("$GPUREADY" pack select torch --format pip-index --gpu 3.5,6.1,12.0 --driver 570.26 2>&1 >answer)
[ "$(cat answer)" = "torch --index-url $url/cu128" ] || die "$(cat answer)"
for line in "cu128 and cu126 together serve 2 of 3" "cu128 serves 12.0" "no build serves 3.5" \
  "cu126 serves 6.1: in an environment of its own, pip install torch --index-url $url/cu126"; do
  expect_in "$line" "$said"
done
# One build serves both, and needs no words.
said=$("$GPUREADY" pack select torch --format pip-index --gpu 6.1,9.0 --driver 580.65.06 2>&1)
[ "$said" = "torch --index-url $url/cu126" ] || die "$said"
# The version is that of the build.
pip --gpu 12.0 --driver 570.26 --json=pip.json
[ "$(jq -r .version pip.json)" = 2.10 ] || die "the version is $(jq -r .version pip.json)"
