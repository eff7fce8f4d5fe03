#!/usr/bin/env python3
"""Do `pack explain` and `pack select` agree on real packages? By hand: it downloads wheels of the Python registry
one at a time and deletes each; nothing of them is kept. Each is adopted as a release of one variant, and for 25
GPUs under 8 drivers the release must serve exactly those on which explain says that each of its files loads.
Usage: agree.py GPUREADY [REQUIREMENT...]"""
import json
import os
import subprocess
import sys
import tempfile
import zipfile

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
tensorflow==2.18.0 torchvision torchaudio spconv-cu120 xformers flashinfer-python vllm parakeet-cpp-cuda""".split()


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def document(*words):
    ended = run(*words, "--json", "-")
    if not ended.stdout:
        sys.exit(f"{' '.join(words)}: {ended.stderr}")
    return json.loads(ended.stdout)


def served(explained):
    """The GPUs on which each file with code loads at least in part."""
    answers = [answer for file in explained["files"] for answer in file["runs_on"] if answer["runs"] != "no_code"]
    return {gpu for gpu in GPUS if {answer["runs"] for answer in answers if answer["gpu"] == gpu} - {"none"}
            and all(answer["runs"] != "none" for answer in answers if answer["gpu"] == gpu)}


def compare(gpuready, wheel, folder):
    """How many answers were compared, and those that differ; nothing compared: no device code."""
    files = f"{folder}/files"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(files)
    explain = [gpuready, "pack", "explain", files, "--gpu", ",".join(GPUS)]
    newest = document(*explain)
    if not newest["files"]:
        return 0, []
    run(gpuready, "pack", "key", "--no-password", f"{folder}/key")
    adopt = [gpuready, "pack", "adopt", "--name", "one", "--version", "1", "--key", f"{folder}/key.key", "--to",
             f"{folder}/release", "--zstd-level", "1", f"all={wheel}"]
    adopted = run(*adopt)
    if "What was unpacked stays" in adopted.stderr:  # it lacks libraries of other wheels
        adopted = run(*adopt, "--waive", "**=only compared")
    if adopted.returncode != 0:
        why = adopted.stderr.strip().splitlines()[-1]
        if "no GPU of NVIDIA's loads all" not in why:
            return 0, [f"not adopted: {why}"]
        return len(GPUS), [f"{gpu}: explain says that all files load, and adopt finds no GPU"
                           for gpu in served(newest) if not gpu.startswith("gfx")]
    differ = []
    for driver in DRIVERS:
        explained = served(document(*explain, "--driver", driver))
        selected = document(gpuready, "pack", "select", f"{folder}/release", "--key", f"{folder}/key.pub", "--to",
                            f"{folder}/store", "--gpu", ",".join(GPUS), "--driver", driver)
        serves = set(selected["considered"][0]["serves"])
        differ += [f"{gpu} under {driver}: explain {gpu in explained}, select {gpu in serves}"
                   for gpu in GPUS if (gpu in explained) != (gpu in serves)]
    return len(GPUS) * len(DRIVERS), differ


def download(package, to):
    got = run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", to, package)
    return [f"{to}/{name}" for name in os.listdir(to)] if got.returncode == 0 else []


def main():
    gpuready = os.path.realpath(sys.argv[1])
    compared = differing = packages = 0
    for package in sys.argv[2:] or PACKAGES:
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/wheel")
            wheels = download(package, f"{folder}/wheel")
            if not wheels:
                print(f"{package}: not downloaded", flush=True)
                continue
            answers, differ = compare(gpuready, wheels[0], folder)
        print(f"{os.path.basename(wheels[0])}: {answers} answers, {len(differ)} differ", *differ, sep="\n  ", flush=True)
        packages += answers > 0
        compared += answers
        differing += len(differ)
    print(f"{packages} packages, {compared} answers, {differing} differ")
    sys.exit(differing > 0 or compared == 0)


main()
