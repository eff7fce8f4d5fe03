# Three machines with one GPU each get legacy, modern and latest and their models; others get what serves
# all their GPUs, a set, or the CPU's variant, with the reason.
source "$LIB"
rm -rf source built release key.* && mkdir -p source/{legacy,modern,latest,cpu}
cubin() { /usr/bin/python3 "$SOURCE/tests/cli/cubin.py" "source/$1/lib.bin" "${@:2}"; }
cubin legacy 50 52 53 60 61 62 70 72
cubin modern 75 80 86 87 88
cubin latest 89 90 100 103 110 120 121+ptx@9.0
echo cpu >source/cpu/file
cat >pack.toml <<'T'
name = "libs"
version = "1"
folder = "source/{variant}"
preset = "legacy-modern-latest"
[variants.cpu]
[[models]]
name = "1.1b-gpu"
free_mb = 6000
[[models]]
name = "0.6b-gpu"
free_mb = 3500
[[models]]
name = "cpu-only"
T
"$GPUREADY" pack key key --no-password -q
expect_exit 0 "$GPUREADY" pack build --out built
expect_exit 0 "$GPUREADY" pack publish --built built --to release --key key.key
choose() { expect_exit 0 "$GPUREADY" pack select release --key key.pub --json=select.json "$@"; }
is() { [ "$(jq -r "$1" select.json)" = "$2" ] || die "$1 is $(jq -c "$1" select.json), not $2: $(cat select.json)"; }

machines=$SOURCE/tests/pack/machines
choose --replay "$machines/quadro-m2200.json"
is '.variants | join(" ")' legacy; is .model 0.6b-gpu
choose --replay "$machines/rtx-a1000-laptop.json"
is '.variants | join(" ")' modern; is .model 0.6b-gpu
choose --replay "$machines/rtx-pro-6000-blackwell.json"
is '.variants | join(" ")' latest; is .model 1.1b-gpu

for pair in 7.2:legacy 8.7:modern 8.8:modern 10.3:latest 11.0:latest 12.1:latest 13.0:latest; do
  choose --gpu "${pair%%:*}"; is '.variants | join(" ")' "${pair##*:}"
done
choose --gpu 6.1,9.0 --driver 570.26; is '.variants | length' 2; is '.unserved | length' 0
choose --gpu 9.0,3.5; is '.variants | join(" ")' latest; is '.unserved | length' 1
choose --gpu none; is .for_cpu true; is '.variants[0]' cpu; is .model cpu-only
choose --gpu 3.5 --driver 470.82; is .for_cpu true
expect_in "so the CPU's is chosen" "$out"
# PTX for GPUs to come needs a driver that compiles it.
choose --gpu 13.0 --driver 570.26; is .for_cpu true
expect_in "PTX 9.0 needs" "$out"
expect_exit 2 "$GPUREADY" pack select release --key key.pub --gpu hopper
expect_exit 2 "$GPUREADY" pack select release --key key.pub --driver 550

# What the recipe declares and the files lack is found before anything is published.
cubin modern 75 80 87
expect_exit 1 "$GPUREADY" pack build --out built --variant modern
expect_in "86 is declared, and no file has code for sm_86" "$out"
cubin modern 75 80 86 87 88 70
expect_exit 1 "$GPUREADY" pack build --out built --variant modern
expect_in "every file has code for sm_70, which is not declared" "$out"
sed -i 's/^version.*/version = "2"/' pack.toml
"$GPUREADY" pack build --out built >/dev/null || true
expect_exit 2 "$GPUREADY" pack publish --built built --to release --key key.key
expect_in "nothing was published" "$err"
