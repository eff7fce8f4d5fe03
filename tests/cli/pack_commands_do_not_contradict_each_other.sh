# adopt, explain, select, install, env --check and the load report say the same of a package on each machine: machine
# code and PTX, containers of other GPUs, parts of cuDNN whose version only a name gives, and no GPU code.
# publish accepts the reports of these machines, and none of another variant.
source "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
rm -rf source built candidate release* reports home store *.zip *.key *.pub && mkdir -p source/{legacy,modern,latest,cpu} home reports
export HOME=$PWD/home FAKES
cubin() { /usr/bin/python3 "$SOURCE/tests/cli/cubin.py" "source/$1" "${@:2}"; }
cubin legacy/lib.bin 50 52 53 60 61 62 70 72 75
cubin legacy/libcudnn_ops.so.9 50 60 70 75
mkdir "source/legacy/nvidia_cudnn_cu12-9.10.2.21.dist-info" && echo 1 >source/legacy/nvidia_cudnn_cu12-9.10.2.21.dist-info/WHEEL
cubin modern/lib.bin 75 80 86 87 88+ptx@8.8
cubin modern/more.bin 70 80@7.0 90
cubin latest/lib.bin 89 90 100 103 110 120 121+ptx@9.0
echo cpu >source/cpu/file
for variant in legacy modern latest cpu; do (cd "source/$variant" && /usr/bin/python3 -m zipfile -c "../../$variant.zip" *); done
agree() { /usr/bin/python3 "$SOURCE/tests/pack/agree.py" "$GPUREADY" --archives "$@" || die "$(echo "$@") differ"; }
agree {legacy,modern,latest,cpu}.zip
# cuDNN 9.11 and newer begin at 7.5: an installed name says so, or only the archive's own.
(cd source/legacy && mv nvidia_cudnn_cu12-9.{10.2.21,15.1.9}.dist-info && rm ../../legacy.zip &&
  /usr/bin/python3 -m zipfile -c ../../legacy.zip *)
agree {modern,legacy}.zip
expect_exit 0 "$GPUREADY" pack explain source/legacy --gpu 7.5
expect_exit 1 "$GPUREADY" pack explain source/legacy --gpu 7.0
(cd source/legacy && rm -r nvidia_cudnn* && echo text >LICENSE && /usr/bin/python3 -m zipfile -c ../../cudnn-9.15.1.zip *)
"$GPUREADY" pack key key --no-password -q >key.txt
expect_exit 0 "$GPUREADY" pack adopt all=cudnn-9.15.1.zip --name one --version 1 --key key.key --to release
[ "$(jq -c '.variants[0].architectures' release/manifest.json)" = '["75"]' ] || die "$(jq '.variants[0]' release/manifest.json)"
for gpu in 7.0 7.5; do
  explained=0 && "$GPUREADY" pack explain cudnn-9.15.1.zip --gpu $gpu -q || explained=$?
  selected=0 && "$GPUREADY" pack select release --key key.pub --gpu $gpu -q || selected=$?
  [ "$explained,$selected" = "$([ $gpu = 7.5 ] && echo 0,0 || echo 1,3)" ] || die "$gpu: explain $explained, select $selected"
done

# The same machines, in software: publish takes what they report, unless another variant was tried.
[ -e "$FAKES/fake_cuda_ptx.so" ] || exit 0
export GPUREADY_LIBCUDA=$FAKES/fake_cuda_ptx.so GPUREADY_LIBNVML=$FAKES/../tests/shim/ptx_nvml.so
"$GPUREADY" pack key lab --no-password -q >lab.txt
printf 'name = "libs"\nversion = "1"\nfolder = "source/{variant}"\nreport_keys = ["%s"]\n' "$(tail -1 lab.pub)" >pack.toml
"$GPUREADY" pack init source/{legacy,modern,latest,cpu} --name libs | sed -n '/^.variants/,$p' >>pack.toml
for machine in 6.1:535.104.05 7.5:550.54.14 8.6:570.26 9.0:580.65.06; do
  printf '[[machines]]\nname = "%s"\ngpus = ["%s"]\ndriver = "%s"\n' "$machine" "${machine%:*}" "${machine#*:}" >>pack.toml
done
expect_exit 0 "$GPUREADY" pack build --out built
expect_exit 0 "$GPUREADY" pack publish --built built --to candidate --key key.key
try() {  # GPU DRIVER CUDA [OPTION...]
  rm -rf store
  expect_exit 0 env FAKE_CUDA="cc=$1,driver=$2,cuda=$3" "$GPUREADY" pack install candidate --key key.pub --to store \
    --report "reports/$1.json" --report-key lab.key "${@:4}"
}
try 6.1 535.104.05 12.2; try 7.5 550.54.14 12.4; try 8.6 570.26 12.8; try 9.0 580.65.06 13.0
[ "$(jq -r .variant reports/*.json | xargs)" = "legacy legacy modern latest" ] || die "$(jq -c . reports/*.json)"
publish() { expect_exit "$1" "$GPUREADY" pack publish --built built --to release-of-libs --key key.key --require-proof reports; }
try 7.5 550.54.14 12.4 --variant modern
publish 2
expect_in "variant modern was tried, and the release gives that machine legacy" "$err"
try 7.5 550.54.14 12.4
publish 0
