#!/usr/bin/env python3
"""Do the commands of `pack` contradict each other? For each of 25 GPUs under each of 8 drivers, one machine each,
`explain` of the files, `select`, `install` and `env --check` of the release, and on NVIDIA's GPUs the load report of an
installation under drivers in software, must say the same; `adopt` may declare no architecture that `explain` denies.
By hand: wheels of the Python registry, or npm's packages (npm:NAME@VERSION), are downloaded one at a time, adopted as a
release of one variant, and deleted; nothing of them is kept. Or a release of local zip files, each a variant of its
file's name, on every third machine.
Usage: agree.py GPUREADY [REQUIREMENT...]
       agree.py GPUREADY --archives FILE..."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

GPUS = ("5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5 8.0 8.6 8.7 8.9 9.0 10.0 10.3 11.0 12.0 12.1 "
        "gfx906 gfx90a gfx942 gfx1030 gfx1100 gfx1201").split()
DRIVERS = "450.80.02 470.42.01 520.61.05 535.104.05 550.54.14 570.26 580.65.06 590.44.01".split()
PACKAGES = """onnxruntime-gpu onnxruntime-gpu==1.20.2 onnxruntime-gpu==1.18.1 onnxruntime-gpu==1.22.0 ctranslate2
ctranslate2==4.4.0 ctranslate2==4.5.0 nvidia-cudnn-cu13 nvidia-cudnn-cu13==9.12.0.46 nvidia-cudnn-cu12
nvidia-cudnn-cu12==9.10.2.21 nvidia-cudnn-cu12==9.1.0.70 nvidia-cudnn-cu12==8.9.7.29 nvidia-cudnn-cu11==8.9.6.50
torch torch==2.8.0 torch==2.6.0 torch==2.4.1 jax-cuda12-plugin jax-cuda13-plugin jax-cuda12-pjrt jax-cuda13-pjrt
nvidia-cublas nvidia-cublas-cu12 nvidia-cublas-cu11 nvidia-cufft nvidia-cufft-cu12 nvidia-curand nvidia-curand-cu12
nvidia-cusolver nvidia-cusolver-cu12 nvidia-cusparse nvidia-cusparse-cu12 nvidia-cusparselt-cu12 nvidia-cusparselt-cu13
nvidia-npp-cu12 nvidia-nvjpeg-cu12 nvidia-nccl-cu12 nvidia-nccl-cu13 nvidia-nccl-cu12==2.21.5 nvidia-nvshmem-cu12
nvidia-nvshmem-cu13 nvidia-nvimgcodec-cu12 cutensor-cu12 cutensor-cu13 cupy-cuda12x cupy-cuda13x cupy-cuda11x
triton triton==3.1.0 bitsandbytes bitsandbytes==0.43.3 faiss-gpu-cu12 xgboost xgboost==2.1.4 lightgbm sgl-kernel
tensorflow==2.18.0 torchvision torchaudio spconv-cu120 xformers flashinfer-python vllm parakeet-cpp-cuda ctransformers
gpt4all gpt4all==2.7.0 xllamacpp-cuda12x xllamacpp-cuda12x==0.1.1 cyllama-cuda12 cyllama-cuda12==0.2.7""".split()


def run(*words, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def document(*words, **variables):
    ended = run(*words, "--json", "-", **variables)
    if not ended.stdout:
        sys.exit(f"{' '.join(words)}: {ended.stderr}")
    return json.loads(ended.stdout)


class Explained:
    """What `explain` says of the files of a variant, for each GPU under one driver."""

    def __init__(self, gpuready, files, gpus, *driver):
        said = document(gpuready, "pack", "explain", files, "--gpu", ",".join(gpus), *driver)
        self.cuda = said["driver"].get("cuda", "")
        self.answers = {gpu: {} for gpu in gpus}  # by file
        for file in said["files"]:
            for answer in file["runs_on"]:
                if answer["runs"] != "no_code":
                    self.answers[answer["gpu"]][file["path"]] = answer

    def loads(self, gpu):
        """Each file with code does, at least in part."""
        answers = self.answers[gpu].values()
        return bool(answers) and all(answer["runs"] != "none" for answer in answers)

    def is_compiled(self, gpu):
        answers = self.answers[gpu].values()
        return sum(answer["by_jit"] - answer["by_cubin"] for answer in answers) > 0


def decision(said):
    return {key: said.get(key) for key in ("variants", "for_cpu", "reason", "unserved", "considered")}


def taken(said):
    return [(each["name"], each["chosen"], len(each["serves"]), len(each["by_jit"])) for each in said["considered"]]


class Release:
    """One that was adopted from archives, by variant, and the files of each."""

    def __init__(self, gpuready, archives, folder):
        self.gpuready, self.folder, self.archives, self.store = gpuready, folder, archives, f"{folder}/store"
        self.files, self.reports = {}, 0
        for variant, archive in archives.items():
            self.files[variant] = f"{folder}/files-{variant}"
            shutil.unpack_archive(archive, self.files[variant], "gztar" if archive.endswith(".tgz") else "zip")
        fakes = os.environ.get("FAKES", os.path.dirname(gpuready) + "/../fake_drivers")
        self.cuda, self.nvml = f"{fakes}/fake_cuda_ptx.so", f"{fakes}/../tests/shim/ptx_nvml.so"

    def explained(self, gpus, *driver):
        return {variant: Explained(self.gpuready, files, gpus, *driver) for variant, files in self.files.items()}

    def adopt(self):
        """Why it was not adopted, if so."""
        run(self.gpuready, "pack", "key", "--no-password", f"{self.folder}/key")
        adopt = [self.gpuready, "pack", "adopt", "--name", "one", "--version", "1", "--key", f"{self.folder}/key.key",
                 "--to", f"{self.folder}/release", "--zstd-level", "1"]
        adopt += [f"{variant}={archive}" for variant, archive in self.archives.items()]
        adopted = run(*adopt)
        if "What was unpacked stays" in adopted.stderr:  # it lacks libraries of other wheels
            adopted = run(*adopt, "--waive", "**=only compared")
        if adopted.returncode != 0:
            return adopted.stderr.strip().splitlines()[-1]
        install = self.ask("install", "--variant", next(iter(self.archives)), "--no-load-test")
        return install["error"]["message"] if "error" in install else None

    def ask(self, command, *options, store=None, **variables):
        return document(self.gpuready, "pack", command, f"{self.folder}/release", "--key", f"{self.folder}/key.pub",
                        "--to", store or self.store, *options, **variables)

    def denied(self):
        """Architectures that adopt declares, and explain denies."""
        with open(f"{self.folder}/release/manifest.json") as manifest:
            declared = {each["name"]: each.get("architectures", []) for each in json.load(manifest)["variants"]}
        for variant, architectures in declared.items():
            names = [re.match(r"\d+", each)[0] for each in architectures]
            gpus = [f"{name[:-1]}.{name[-1]}" for name in names]
            if gpus:
                explained = Explained(self.gpuready, self.files[variant], gpus)
                yield from (f"{variant}: adopt declares {gpu}" for gpu in gpus if not explained.loads(gpu))

    def contradictions(self, gpu, driver, explained):
        """Of the commands, for a machine with this GPU and this driver."""
        machine = ["--gpu", gpu, "--driver", driver]
        selected = self.ask("select", *machine)
        for variant in selected["considered"]:
            told = explained[variant["name"]]
            if (told.loads(gpu), told.loads(gpu) and told.is_compiled(gpu)) != (
                    bool(variant["serves"]), bool(variant["by_jit"])):
                yield f"explain says {told.answers[gpu]}, select {variant}"
            if not variant["chosen"] and not variant["problems"] and not variant.get("why_not"):
                yield f"select does not say why not {variant}"
        if decision(self.ask("install", *machine, "--dry-run")) != decision(selected):
            yield "install decides otherwise than select"
        variant = "+".join(selected["variants"])
        checked = document(self.gpuready, "pack", "env", "--to", self.store, "--check", *machine)
        if checked.get("variant", "") != variant or checked["right"] != (variant == next(iter(self.archives))):
            yield f"env --check says {checked.get('variant')}, select {variant}"
        if not gpu.startswith("gfx") and os.path.exists(self.cuda):
            yield from self.reported(gpu, driver, explained, selected)

    def reported(self, gpu, driver, explained, selected):
        """What the load report of a machine in software contradicts."""
        path, live = f"{self.folder}/report.json", f"{self.folder}/live"
        cuda = next(iter(explained.values())).cuda
        installed = self.ask("install", "--report", path, store=live, GPUREADY_LIBCUDA=self.cuda,
                             GPUREADY_LIBNVML=self.nvml, GPUREADY_TRUST_NAMED_LIBRARIES="1",
                             FAKE_CUDA=f"cc={gpu},driver={driver},cuda={cuda}")
        report = {"variant": "", "loads": []}
        self.reports += 1
        if os.path.exists(path):
            with open(path) as file:
                report = json.load(file)
            os.remove(path)
            if report.get("driver") != driver:
                yield f"the machine in software has driver {report.get('driver')}"
        variant = "+".join(selected["variants"])
        if report["variant"] != variant:
            yield f"the load report says {report['variant'] or 'nothing'}, select {variant or 'nothing'}"
        for load in report["loads"]:
            for code in load.get("code", []):
                answer = explained[load["variant"]].answers[gpu][code["path"]]
                if (code["by_cubin"], code["by_jit"]) != (answer["by_cubin"], answer["by_jit"]):
                    yield f"the load report says {code}, explain {answer}"
        # If a library does not load, for want of another wheel's, something else may be installed.
        if not any("failure" in load for load in report["loads"]) and taken(installed) != taken(selected):
            yield f"install says {decision(installed)}, select {decision(selected)}"


def compare(gpuready, archives, folder, every=1):
    """How many machines were compared, of how many a load report, and what differs. No machine: no device code."""
    release = Release(gpuready, archives, folder)
    newest = release.explained(GPUS)
    if not any(explained.answers[gpu] for explained in newest.values() for gpu in GPUS):
        return 0, 0, []
    if why := release.adopt():
        if "no GPU of NVIDIA's loads all" not in why:
            return 0, 0, [f"not adopted: {why}"]
        return len(GPUS), 0, [f"{gpu}: explain says that all files load, and adopt finds no GPU" for gpu in GPUS
                              if not gpu.startswith("gfx") and any(each.loads(gpu) for each in newest.values())]
    differ, machines = list(release.denied()), 0
    for driver in DRIVERS:
        explained = release.explained(GPUS, "--driver", driver)
        for gpu in GPUS[DRIVERS.index(driver) % every::every]:
            machines += 1
            differ += [f"{gpu} under {driver}: {what}" for what in
                       release.contradictions(gpu, driver, explained)]
    return machines, release.reports, differ


def told(machines, reports, differ):
    return f"{machines} machines, {reports} of them with a load report, {differ} differ"


def download(package, to):
    if package.startswith("npm:"):
        got = run("npm", "pack", "--pack-destination", to, package.removeprefix("npm:"))
    else:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", to]
        got = run(*pip, package)
    return [f"{to}/{name}" for name in os.listdir(to)] if got.returncode == 0 else []


def main():
    gpuready, *packages = os.path.realpath(sys.argv[1]), *sys.argv[2:]
    if packages[:1] == ["--archives"]:
        archives = {os.path.splitext(os.path.basename(path))[0]: path for path in packages[1:]}
        with tempfile.TemporaryDirectory() as folder:
            machines, reports, differ = compare(gpuready, archives, folder, every=3)
        print(told(machines, reports, len(differ)), *differ, sep="\n  ")
        sys.exit(bool(differ) or machines == 0)
    compared, with_code = [0, 0, 0], 0
    for package in packages or PACKAGES:
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/wheel")
            wheels = download(package, f"{folder}/wheel")
            if not wheels:
                print(f"{package}: not downloaded", flush=True)
                continue
            machines, reports, differ = compare(gpuready, {"all": wheels[0]}, folder)
        counts = machines, reports, len(differ)
        print(f"{os.path.basename(wheels[0])}: {told(*counts)}", *differ, sep="\n  ", flush=True)
        with_code += machines > 0
        compared = [all_of + of_this for all_of, of_this in zip(compared, counts)]
    print(f"{with_code} packages, {told(*compared)}")
    sys.exit(compared[2] > 0 or compared[0] == 0)


main()
