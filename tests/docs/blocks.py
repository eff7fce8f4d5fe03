"""The shell blocks of the documents, which are those without another language: RUN says how commands.py runs them, and
NOT_RUN why it does not. A row's key is how its block begins.

A block runs in an empty folder with links to gpuready, gpuready-guest, tests and examples. `before` creates what a
reader has by then. `instead` replaces what the block names by a small size, a recording or a file in the folder. Each
command ends with 0, unless it contains a key of `fails`: then with one of these exit codes. Lines after "$ command" are
its output.
"""
from typing import NamedTuple


class Run(NamedTuple):
    before: str = ""
    instead: dict = {}
    fails: dict = {}


HOST = "--replay tests/machines/vm-host-h100/machine.json"
SHORT = "--device cpu --repeats 1 --iters 4 --warmup 1 --max-seconds 0.05"
SMALL = {"gpuready bench run": f"gpuready bench run {SHORT} --stack gpuready --hidden 64"}
UNDECIDED = {"bench compare": (0, 1, 4), "bench loop": (0, 1, 4)}  # as the machine's noise decides
LOOP = {"bench loop": "bench loop --max-runs 3"}
ADAPTER = "echo 'import os; os.execlp(\"gpuready\", \"gpuready\", \"bench\", \"adapter\")' >"
RUNS = """
tests/cli/bench_runs.py bench-results gpu_baseline 0 2 1000 1003 998 1001 999 1002
export STACK=gpuready VARIABLE=TORCHINDUCTOR_MAX_AUTOTUNE=1
tests/cli/bench_runs.py bench-results gpu_idea 1 2 952 951 954 950 953 952
"""
DRIVER = """
. tests/vm/stub_driver.sh
make_stub_driver driver 580.65.06
installer() { printf '#!/bin/sh\\nskip=3\\n' && tar -C driver -cz .; }
"""
BUNDLE = DRIVER + "mkdir bundles && gpuready vm drivers collect driver -o bundles/580\n"
CONSOLE = "cp tests/consoles/guest-ready.log "
SERVER = """
mkdir www
python3 -u -m http.server 0 --bind 127.0.0.1 --directory www >server.txt 2>&1 &
until grep -q " port " server.txt; do sleep 0.05; done
site=http://127.0.0.1:$(sed -n 's/.* port \\([0-9]*\\).*/\\1/p' server.txt)
"""
RECIPE = r"""
mkdir -p build/cpu build/cuda && echo same | tee build/cpu/shared >build/cuda/shared
printf '.version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n\0' >build/cuda/code.ptx
cat >pack.toml <<'END'
name = "my-libs"
version = "1.2.0"
folder = "build/{variant}"
[variants.cpu]
[variants.cuda]
architectures = ["50-virtual"]
END
"""
BUILT = RECIPE + "export GPUREADY_FAKE=none && gpuready pack key my-libs --no-password && gpuready pack build\n"
RELEASE = BUILT + "gpuready pack publish --key my-libs.key --to release\n"
INSTALLED = RELEASE + """
gpuready pack install release --key my-libs.pub
sed -i s/1.2.0/1.2.1/ pack.toml && gpuready pack build && gpuready pack publish --key my-libs.key --to release
gpuready pack install release
"""
NO_PASSWORD = {"pack key": "pack key --no-password"}
# cuBLAS of CUDA 13, as far as the answer depends on it: 180 modules.
CUBLAS = r"""python3 - <<'END'
import struct
ptx = b".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n"
ptx += b"\0" * (-len(ptx) % 8)
entry = struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(ptx), 0, 0, 0, 9, 75, 0, 0, 0x11, 0, 0) + ptx
open("libcublas.so.13", "wb").write((struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry) * 180)
END
"""
SLURM = """
mkdir etc kept && echo ClusterName=c >etc/slurm.conf && printf 'IDLE\\n(null)\\n' >state
cat >scontrol <<'END'
#!/bin/sh
{ read -r state; read -r reason; } <state
case $1-$3 in
  show-*) printf 'NodeName=n1\\n   State=%s\\n   Reason=%s [root@2026-11-26T04:01:02]\\n' "$state" "$reason" ;;
  update-State=DRAIN) printf 'IDLE+DRAIN\\n%s\\n' "${4#Reason=}" >state ;;
  update-State=RESUME) printf 'IDLE\\n(null)\\n' >state ;;
esac
END
chmod +x scontrol
"""
# srun labels the reports of n1 and n2, and measures 12 nodes that are equally fast.
CLUSTER = """
tests/fleet/nodes.py "$PWD/gpuready" reports 2
for i in 1 2 3; do echo "SwitchName=leaf$i Nodes=n[$((i * 4 - 3))-$((i * 4))]"; done >topology.conf
cat >srun <<'END'
#!/bin/sh
case $* in
  *gpuready*) sed 's/^/0: /' reports/n1.json; sed 's/^/1: /' reports/n2.json ;;
  *) echo "# Avg bus bandwidth    : 350.$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')" ;;
esac
END
printf '#!/bin/sh\\nwhile [ "$1" != gpuready ]; do shift; done; SLURM_JOB_ID=7 exec "$@"\\n' >salloc
chmod +x srun salloc && ln -s /bin/true clush
export SLURM_JOB_NODELIST='n[1-2]'
"""
KUBECTL = CLUSTER + """
cat >kubectl <<'END'
#!/bin/sh
[ "$1" != logs ] || exec sed 's|^|[pod/test/gpuready] |' ../reports/n1.json
shift && while getopts f: _; do [ -f "$OPTARG" ] || exit 1; done
END
chmod +x kubectl
"""

RUN = {
    "README.md": {
        "$ gpuready doctor --replay": Run(fails={"gpuready doctor": (1,)}),
        "$ gpuready pack explain": Run(CUBLAS, fails={"pack explain": (1,)}),
        "# every installed stack": Run("", {
            " \\\n  --stack torch_compile": "", " --stack torch_compile": "",
            "compare base idea": "compare base idea --allow load",  # other tests may run beside one side only
            **SMALL, **LOOP}, UNDECIDED),
        "# which devices can be": Run(DRIVER + CONSOLE + "guest.log", {
            "vm list": f"vm list {HOST}", "17:00.0": f"17:00.0 {HOST}", "DRIVER": "driver"}),
        "# the library too": Run("", {  # the tree is built
            "scripts/build.sh release": "true", "build/release": "$BUILD", "/opt/gpuready": "$PWD/prefix"}),
    },
    "docs/bench-run.md": {
        "# mlp": Run(ADAPTER + "my_tvm.py", {
            "gpuready bench run\n": "gpuready bench run --stack gpuready --hidden 64\n", "4096": "64", "2048": "64",
            "bf16": "fp32", "gpuready_cublaslt,torch_eager,xla": "gpuready", ",torch_compile": " --hidden 64",
            "gpuready bench run": f"gpuready bench run {SHORT}"}),
    },
    "docs/bench.md": {
        "gpuready bench compare": Run(RUNS),
        "gpuready bench promote": Run(RUNS),
        "gpuready bench loop": Run("", {
            "ctest --test-dir build": "true", " --stack torch_compile": "", **SMALL, **LOOP}, UNDECIDED),
        "for batch": Run("", SMALL),
    },
    "docs/endurance.md": {
        "# an hour": Run("", {
            "3600": "1", "600": "1", "gpuready test": "gpuready test --device cpu --state state"}, {"tensor": (4,)}),
    },
    "docs/exporter.md": {
        "systemctl": Run("ln -s /bin/true systemctl", {
            "/run/gpuready": "$PWD",
            "gpuready exporter": f"timeout --preserve-status 2 gpuready exporter --state none {HOST}"}),
    },
    "docs/fakes-and-variables.md": {"BITNET_GPU_FAKE=": Run("ln -s /bin/true my_program")},
    "docs/fleet.md": {
        "srun -l": Run(CLUSTER),
        "# or the .rpm": Run(SLURM + CLUSTER, {
            "/etc/slurm/topology": "topology", "slurm install": "slurm install --conf etc/slurm.conf"}, {
            "fleet merge": (4,)}),
        "cp -r": Run(KUBECTL, {"/usr/share/gpuready": "tests/../packaging"}),
    },
    "docs/gpu-playbook.md": {
        "gpuready bench run": Run("", {
            "--device cuda": f"{SHORT} --stack gpuready", " --iters 80": "", "--warmup 20": "", "2048": "64"}),
        "export PYC": Run(),
        "MINE_BENCH_CMD": Run(ADAPTER + "mine.py", {
            ",torch_compile": "", "gpuready bench run": f"gpuready bench run {SHORT} --hidden 64"}),
    },
    "docs/gpu-test.md": {"install": Run("", {"/path/to": "."})},
    "docs/kubernetes.md": {
        "gpuready kubernetes condition": Run("", {"condition": f"condition --state none {HOST}"}, {"untested": (1,)}),
        "gpuready kubernetes features": Run("mkdir features.d", {
            "features \\": f"features {HOST} \\", "/etc/kubernetes/node-feature-discovery/": ""}),
        "gpuready kubernetes event": Run("""
python3 tests/cli/health_events.py socket events &
until [ -S socket ]; do sleep 0.05; done
NODE_NAME=n1
""", {"event": f"event --socket $PWD/socket --state none {HOST}"}),
    },
    "docs/pack-release.md": {
        "#!/bin/sh": Run("""
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(p NONE)
install(FILES CMakeLists.txt DESTINATION lib)
END
export PACK_VARIANT=cpu PACK_FOLDER=$PWD/build/cpu
"""),
        "# once: my-libs.key": Run(RECIPE, NO_PASSWORD),
        "# once; report_keys": Run(BUILT + """
add_key() {
  sed -i "1i report_keys = ['$(tail -n 1 lab.pub)']" pack.toml && printf '[[machines]]\\nname = "any"\\n' >>pack.toml
}
""", {"pack key lab": "pack key lab --no-password; add_key"}),
        "gpuready pack adopt": Run(BUILT + """
for variant in legacy modern latest; do
  echo $variant >build/cpu/variant && tar -C build/cpu -czf cuda-libs-$variant.tar.gz .
done
"""),
        "# what would be": Run(RELEASE, {"https://example.org/libs": "release", "RWQ...": "my-libs.pub"}),
        "# torch": Run("printf '#!/bin/sh\\n[ $# -ge 2 ]\\n' >pip && chmod +x pip"),
        "# exit 1": Run(INSTALLED, {"NAME": "my-libs"}, {"--gpu 8.6": (1,)}),
        "# next.key": Run(RELEASE, NO_PASSWORD),
    },
    "docs/pack.md": {
        "gpuready pack inspect": Run(SERVER + CUBLAS + """
mkdir -p site-packages/nvidia && cp libcublas.so.13 site-packages/nvidia && cp libcublas.so.13 libggml-cuda.so
python3 -m zipfile -c torch-2.9.whl libggml-cuda.so
tar -cf image.tar libggml-cuda.so && gzip -c image.tar >www/libs.tar.gz
""", {"https://example.org/libs.tar.zst": "$site/libs.tar.gz", "libggml-cuda.so\n": f"libggml-cuda.so {HOST}\n"}),
    },
    "docs/policy.md": {"# the policy": Run("", {"policy.toml": f"policy.toml {HOST}"})},
    "docs/recordings.md": {"# everything": Run(fails={"gpuready doctor": (0, 1, 4)})},
    "docs/releasing.md": {
        "gpuready pack key release": Run("""
git init -q && mkdir packaging
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@a
""", NO_PASSWORD),
    },
    "docs/slow-nodes.md": {
        "gpuready fleet slow --topology /etc": Run(CLUSTER + "export SLURM_JOB_ID=7", {"/etc/slurm/": ""}),
        "gpuready fleet slow --topology topology.conf": Run(CLUSTER + "echo 1 n1 n7 346.2 >rates.txt", {}, {
            "--results rates.txt": (0, 4)}),
    },
    "docs/slurm.md": {
        "# shows what": Run(SLURM, {
            "slurm install": "slurm install --conf etc/slurm.conf", "/var/lib/gpuready": "kept"}),
        "# only shows": Run(SLURM, {
            "slurm health\n": f"slurm health {HOST} --rehearse\n",
            "slurm health": "slurm health --node n1 --scontrol $PWD/scontrol --folder kept"}, {"off-the-bus": (1,)}),
    },
    "docs/status.md": {
        "$ gpuready status": Run("""
jq -nR 'input as $boot | {schema: "gpuready.results", schema_version: 1, results: [range(8) | {
  subject: "GPU \\(.)", standing: "good", level: "standard", tested_unix_seconds: (now - 3 * 3600 | floor),
  endurance_seconds: 0, hammer: false, reason: "", action: "none", boot_id: ($boot | gsub("-"; ""))}]}' \\
  /proc/sys/kernel/random/boot_id >results
""", {"gpuready status": "gpuready status --state results"}),
    },
    "docs/vm-doctor.md": {
        "# this machine": Run(CONSOLE + "console.log", {
            "vm doctor\n": f"vm doctor {HOST}\n", "17:00.0": f"17:00.0 {HOST}", "FILE": HOST.split()[1]}),
    },
    "docs/vm-drivers.md": {
        "mkdir -p bundles": Run(DRIVER + """
installer >NVIDIA-Linux-x86_64-580.65.06.run
echo 2.0 >debian-binary && tar -czf control.tar.gz -T /dev/null
package() {
  mkdir $1 && mv $2 $1 && tar -C $1 -czf data.tar.gz . && ar rc $1_550.deb debian-binary control.tar.gz data.tar.gz
}
make_stub_driver old 550.163.01
package libcuda1 "old/lib64/libcuda.so*" && package libnvidia-ml1 "old/lib64/*"
package firmware-nvidia-gsp old/firmware
""", {"collect / ": "collect driver ", "/usr/local/nvidia": "driver"}),
        "gpuready vm drivers fetch": Run(DRIVER + SERVER + """
make_stub_driver older 570.86.16 && mkdir bundles && gpuready vm drivers upgrade bundles older
installer >www/NVIDIA-Linux-x86_64-580.65.06.run && hash=$(sha256sum www/*.run | cut -c1-64)
ln -s /bin/true boot-a-guest
""", {"https://...": "$site", "HASH": "$hash"}),
        "gpuready vm compat": Run(BUNDLE + "mkdir root", {"bundles/550": "bundles/580", "/path/to/image/root": "root"}),
        "gpuready vm initrd": Run(BUNDLE + "touch base.img"),
        "gpuready-guest inject": Run(BUNDLE + """
mkdir -p ROOT/usr/lib ROOT/etc
cp "$(ldd /bin/true | sed -n 's/.*libc.so.6 => \\([^ ]*\\) .*/\\1/p')" ROOT/usr/lib
"""),
    },
    "docs/vm.md": {
        "# which devices": Run(CONSOLE + "guest.log", {
            "vm list": f"vm list {HOST}", "17:00.0": f"17:00.0 {HOST}", "vm status": f"vm status {HOST}",
            "vm doctor\n": f"vm doctor {HOST}\n"}),
    },
}

GPU = "needs a GPU"
ROOT = "needs root and changes this machine"
NETWORK = "needs the network or a registry"
MINUTES = "starts a build of minutes"
NOT_RUN = {
    "README.md": {
        "$ sudo apt install": ROOT,
        "$ gpuready\n": GPU,
        "./run.sh": MINUTES,
        "$ gpuready selftest": GPU,
        "gpuready vm attach": ROOT,
    },
    "docs/building.md": {
        "# exit 1 below 85% killed": MINUTES,
        "cmake --preset release -B build/pack": MINUTES,
        "cmake --preset release -B build/ternary": MINUTES,
        "cmake --preset release -DGPUREADY_SHARED": MINUTES,
    },
    "docs/foreign-faults.md": {"cmake --build": GPU},
    "docs/gpu-playbook.md": {"git clone": NETWORK},
    "docs/library.md": {"cargo add": "needs Rust"},
    "docs/pack-release.md": {"gpuready pack publish": NETWORK, "GPUREADY_OCI_TOKEN": NETWORK},
    "docs/releasing.md": {"GPUREADY_RELEASE_KEY": MINUTES, "minisign": "needs minisign"},
    "docs/status.md": {"systemctl": ROOT},
    "docs/vm-drivers.md": {"gpuready vm drivers collect NVIDIA": "needs the headers of a kernel"},
    "docs/vm.md": {"# runs the steps": ROOT, "gpuready vm detach": ROOT},
    "examples/npm-app/README.md": {"mkdir packages": NETWORK},
    "examples/pack/README.md": {"export PTXAS_12": "needs compilers of CUDA"},
    "examples/pip-app/README.md": {"export TERNARY_DOT_RELEASE": NETWORK},
}
