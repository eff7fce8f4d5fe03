# Before a version becomes current its probe kernels are launched on each GPU, and must write what the
# recipe expects: one that computes wrongly, faults, hangs or is not there keeps the old version.
source "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
[ -e "$FAKES/fake_cuda_ptx.so" ] || skip "the fake driver that runs PTX is not built"
rm -rf home source built release key.* && mkdir -p home source/gpu/lib source/cpu
export HOME=$PWD/home GPUREADY_LIBNVML=$FAKES/fake_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda_ptx.so
export FAKE_NVML="devices=2" FAKE_CUDA="devices=2,cc=9.0"
echo cpu >source/cpu/file
# out[thread] = in[thread] * factor
kernel() {  # OPERATION OFFSET
  cat >source/gpu/lib/code.ptx <<P
.version 6.0
.target sm_50
.address_size 64
.visible .entry scale(
	.param .u64 scale_param_0,
	.param .u32 scale_param_1,
	.param .u64 scale_param_2
)
{
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<8>;

	ld.param.u64 	%rd1, [scale_param_0];
	ld.param.u64 	%rd2, [scale_param_2];
	cvta.to.global.u64 	%rd3, %rd2;
	ld.param.u32 	%r1, [scale_param_1];
	cvta.to.global.u64 	%rd4, %rd1;
	mov.u32 	%r2, %tid.x;
	mul.wide.u32 	%rd5, %r2, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.u32 	%r3, [%rd6];
	$1
	add.s64 	%rd7, %rd3, $2;
	st.global.u32 	[%rd7], %r4;
	ret;
}
P
}
release() {  # VERSION [KERNEL]
  cat >pack.toml <<T
name = "libs"
version = "$1"
folder = "source/{variant}"
[variants.gpu]
architectures = ["50-virtual"]
[variants.cpu]
[[probes]]
file = "lib/code.ptx"
kernel = "${2:-scale}"
threads = 3
arguments = [{ words = [1, 2, 3] }, { u32 = 7 }, { expect = [7, 0xe, 21] }]
T
  expect_exit 0 "$GPUREADY" pack build --out built
  expect_exit 0 "$GPUREADY" pack publish --built built --to release --key key.key
}
install() { expect_exit "$1" "$GPUREADY" pack install release --key key.pub --variant gpu --json=install.json; }
stays() { [ "$(jq -r '.packages[0] | .current as $n | .installed[] | select(.number == $n) | .version' <("$GPUREADY" pack list libs --json))" = 1 ] || die "version 1 is not current"; }
"$GPUREADY" pack key key --no-password -q >/dev/null

kernel 'mul.lo.s32 %r4, %r3, %r1;' %rd5; release 1
install 0
expect_exit 0 "$GPUREADY" pack install release --variant gpu --report report.json
expect_in "1 probe kernel launched" "$(echo $out)"
[ "$(jq -c '[.installed.loads[].probes]' install.json)" = "[1,1]" ] || die "not launched on both GPUs: $(cat install.json)"
[ "$(jq -c '[.loads[].kernels[0]]' report.json)" = '["scale","scale"]' ] || die "the report: $(cat report.json)"
stays

kernel 'add.s32 %r4, %r3, %r1;' %rd5; release 2
install 1
expect_in "kernel scale: word 0 of its argument 3 is 0x8, and 0x7 is expected" "$(jq -r .error.message install.json)"
stays
kernel 'mul.lo.s32 %r4, %r3, %r1;' %rd3; release 3  # writes where nothing is
install 1
expect_in "the kernel gives error 7" "$(jq -r .error.message install.json)"
stays
kernel 'mul.lo.s32 %r4, %r3, %r1;' %rd5; release 4 absent
install 1
expect_in "kernel absent: no code of that file which this GPU loads has it" "$(jq -r .error.message install.json)"
stays
# One that fails falls back to the CPU's variant where the machine chooses.
expect_exit 0 "$GPUREADY" pack install release
expect_in "So the CPU's variant is installed" "$out"

# What cannot be launched is said before anything is published.
bad() {  # LINE TEXT
  sed -e 's/version = .*/version = "9"/' -e "s|^$1.*|$2|" pack.toml >bad.toml
  "$GPUREADY" pack build bad.toml --out built >stdout.txt 2>stderr.txt && "$GPUREADY" pack publish bad.toml --built built --to release --key key.key >>stdout.txt 2>>stderr.txt && die "$2 is published"
  expect_in "$3" "$(cat stdout.txt stderr.txt)"
}
bad threads 'threads = 5000' "1 to 1024 threads"
bad arguments 'arguments = [{ words = [1], u32 = 7 }]' "is not one of words, expect, u32 and u64"
bad arguments 'arguments = [{ words = [5000000000] }]' "has no 32 bits"
bad arguments 'arguments = [{ word = [1] }]' "word is not known here"
bad file 'file = "lib/other.ptx"' "lib/other.ptx is not one of its files with device code"
bad kernel 'kernel = "scale"\nvariants = ["cup"]' "name no variant of this recipe: cup"
