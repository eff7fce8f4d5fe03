"""An ordinary user plants links, folders, repositories, adapters, pipes and files; root runs every command beside them.

Usage: hostile_user.py GPUREADY MACHINES [TEST...]. Runs as root in a mount namespace of its own, where /tmp,
/var/lib and /root are empty folders. Nothing outside root's own output may change, no answer may differ, nothing
may hang.
"""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ground as shared
from every_command import Inputs, every_command
from ground import USER, Ground, as_user, expect, run

# Every command that writes a file that it was given; OUT is the file.
WRITERS = {
    "check --json": lambda out: ["check", "--replay", MACHINE, f"--json={out}"],
    "check --html": lambda out: ["check", "--replay", MACHINE, "--html", out],
    "check --md": lambda out: ["check", "--replay", MACHINE, "--md", out],
    "check --prom": lambda out: ["check", "--replay", MACHINE, "--prom", out],
    "detect --json": lambda out: ["detect", "--replay", MACHINE, f"--json={out}"],
    "doctor --json": lambda out: ["doctor", "--replay", MACHINE, f"--json={out}"],
    "vm doctor --json": lambda out: ["vm", "doctor", "--replay", MACHINE, f"--json={out}"],
    "record": lambda out: ["record", out],
    "ternary verify --json": lambda out: ["ternary", "verify", "--device", "cpu", f"--json={out}", GGUF],
    "ternary convert": lambda out: ["ternary", "convert", GGUF, out, "--to", "tq2_0", "--force"],
    "pack inspect --json": lambda out: ["pack", "inspect", GPUREADY, f"--json={out}"],
    "bench export": lambda out: ["bench", "export", "first", "--results", RESULTS, "--format", "csv", "--out", out],
    "bench report --html": lambda out: ["bench", "report", "--results", RESULTS, "--html", out],
    "pack key": lambda out: ["pack", "key", str(out).removesuffix(".key"), "--no-password"],
}


def plants(ground, number):
    """What the user makes where root's output is to go: a name, and the path that root gives."""
    mine, shared, root = ground.mine, ground.shared, ground.root

    def link(folder, target):
        path = folder / f"link{number}.key"
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        return path

    def through(folder, target):
        path = folder / f"way{number}"
        path.symlink_to(target)
        return path / "report.key"

    def own_file():
        path = shared / f"file{number}.key"
        path.write_text("the user's\n")
        return path

    def pipe():
        path = mine / f"pipe{number}.key"
        os.mkfifo(path)
        return path

    def hard_link():
        path = shared / f"hard{number}.key"
        try:
            os.link(root / "canary", path)
        except PermissionError:  # protected_hardlinks
            path.write_text("the user's\n")
        return path

    return {
        "a link to root's file": lambda: link(mine, root / "canary"),
        "a link to a new name in root's folder": lambda: link(mine, root / "new"),
        "a link in a sticky folder": lambda: link(shared, root / "canary"),
        "a folder that is a link": lambda: through(mine, root),
        "a link to a link": lambda: link(mine, link(shared, root / "canary")),
        "the user's file in a sticky folder": own_file,
        "a pipe": pipe,
        "a hard link": hard_link,
        "a link to a device": lambda: link(mine, "/dev/full"),
    }


def outputs(ground):
    number = 0
    for command, words in WRITERS.items():
        for name in plants(ground, 0):
            number += 1
            place = {}

            def plant(name=name, number=number):
                path = plants(ground, number)[name]()
                (ground.mine / "place").write_text(str(path))

            as_user(plant)
            place = (ground.mine / "place").read_text()
            what = f"{command} onto {name}"
            code, _, err = run(what, words(place), ground.mine)
            ground.unchanged(what)
            if name not in ("a hard link",):
                expect(code != 0, f"{what}: written without a word")
                expect(str(ground.top) in err, f"{what}: the message names no path: {err[:200]}")


def swapped_folder(ground, tries=40):
    """The user swaps a folder and a link to root's folder all the time while root writes below it."""
    def folders():
        (ground.mine / "swap").mkdir()
        (ground.mine / "away").symlink_to(ground.root / "folder")

    as_user(folders)
    swapper = os.fork()
    if swapper == 0:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        libc = ctypes.CDLL(None, use_errno=True)
        a, b = os.fsencode(ground.mine / "swap"), os.fsencode(ground.mine / "away")
        while True:
            libc.renameat2(-100, a, -100, b, 2)  # RENAME_EXCHANGE
    try:
        for i in range(tries):
            run("a swapped folder", ["detect", "--replay", MACHINE, f"--json={ground.mine}/swap/report{i}.json"], "/")
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)
    ground.unchanged("a swapped folder")


CODE = "import os\nopen({0!r}, 'a').write(str(os.geteuid()) + '\\n')\n"
SHELL = "#!/bin/sh\nid -u >>{0}\nexit 0\n"


def newest_run(results):
    """The status of each stack of the last run."""
    runs = []
    for path in sorted(results.rglob("*.json"), key=lambda path: path.stat().st_mtime_ns):
        document = json.loads(path.read_text())
        if "run" in document:
            runs.append({stack["id"]: stack["status"] for stack in document["run"]["stacks"]})
    return runs[-1] if runs else {}


def planted_programs(ground):
    """Programs, modules and a repository in the folder where root works; any that runs as root says so."""
    mark = ground.mine / "ran"

    def plant():
        here = ground.mine
        mark.write_text("")
        mark.chmod(0o666)
        for name in ("json", "sitecustomize", "usercustomize", "torch", "numpy", "subprocess", "statistics"):
            (here / f"{name}.py").write_text(CODE.format(str(mark)))
        for folder in ("bin", "cuda/bin", "lib"):
            (here / folder).mkdir(parents=True)
        for name in ("git", "nvcc", "python3", "python", "nvidia-smi", "modprobe", "systemctl", "hipcc", "fsmonitor", "ssh"):
            for folder in ("bin", "cuda/bin"):
                (here / folder / name).write_text(SHELL.format(mark))
                (here / folder / name).chmod(0o755)
        run_git = lambda *words: subprocess.run(["git", *words], cwd=here, check=True, capture_output=True,
                                                env={"PATH": "/usr/bin:/bin", "HOME": str(here)})
        if shutil.which("git"):
            run_git("init", "-q")
            (here / ".gitattributes").write_text("* filter=evil diff=evil\n")
            run_git("add", ".gitattributes")
            for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "diff.external", "core.pager",
                        "core.sshCommand", "core.editor", "diff.evil.textconv"):
                run_git("config", key, str(here / "bin/fsmonitor"))
            run_git("config", "core.hooksPath", str(here / "bin"))
        results = here / "bench-results"
        results.mkdir()
        (results / "adapters").mkdir()

    as_user(plant)
    # What an earlier run of an ordinary user leaves, with modules beside the adapters.
    def unpacked():
        os.environ.clear()
        os.environ.update({"PATH": "/usr/bin:/bin", "HOME": str(ground.mine)})
        os.chdir(ground.mine)
        subprocess.run([shared.program, *BENCH], capture_output=True, timeout=120)
        for folder in ground.mine.glob("bench-results/*/"):
            for name in ("json", "os", "time", "sitecustomize"):
                (folder / f"{name}.py").write_text(CODE.format(str(mark)))

    as_user(unpacked)
    mark.write_text("")
    hostile = {"CUDA_HOME": str(ground.mine / "cuda"), "CUDA_PATH": str(ground.mine / "cuda"),
               "ROCM_PATH": str(ground.mine / "cuda"), "SUDO_UID": str(USER), "SUDO_GID": str(USER), "SUDO_USER": "mallory"}
    paths = {"PATH": f"{ground.mine}/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    own_results = [*BENCH, "--results", ground.root.parent / "results"]
    for name, extra in (("the folder", {}), ("variables", hostile), ("PATH", {**hostile, **paths})):
        for words in (["check", "--level", "quick"], ["doctor"], ["detect"], ["record", ground.root.parent / "r.json"], BENCH, own_results,
                      ["vm", "doctor"], ["vm", "show"], ["pack", "env", "--check"], ["gpu-test"]):
            code, _, err = run(f"{words[0]} with planted programs by {name}", words, ground.mine, extra, 180)
            if words == own_results:
                # 3 where PyTorch is not installed: its adapter runs all the same, and says so.
                stacks = newest_run(ground.root.parent / "results")
                expect(code in (0, 3) and stacks == {"gpuready": "ok", "torch_eager": "ok" if code == 0 else "unavailable"},
                       f"bench run by {name}: exit {code}, {stacks}: {err[-300:]}")
            expect(words != BENCH or code != 0, f"bench run by {name}: the user's results were taken for root's")
            ran = mark.read_text().split()
            expect("0" not in ran, f"{' '.join(map(str, words))}: the user's program ran as root, by {name}")
            mark.write_text("")
    ground.unchanged("planted programs")


def planted_stores(ground):
    """A store that the user owns, with links where the store's own folders are."""
    for number, victim in enumerate(("objects", "generations", "state.json", "gpu-package-info.json", "current", "staging", "lock")):
        store = ground.mine / f"store{number}"

        def plant(victim=victim, store=store):
            store.mkdir()
            for name in ("objects", "generations"):
                if name != victim:
                    (store / name).mkdir()
            (store / victim).symlink_to(ground.root / ("folder" if "." not in victim else "state.json"))

        as_user(plant)
        for words in (["pack", "list", "--to", store], ["pack", "gc", "demo", "--to", store], ["pack", "verify", "demo", "--to", store],
                      ["pack", "rollback", "demo", "--to", store], ["pack", "uninstall", "demo", "--to", store]):
            run(f"{words[1]} of a user's store", words, ground.mine)
            ground.unchanged(f"pack {words[1]} with {victim} as a link")


def answers_are_the_same(ground):
    """The exit code and the findings of machines, from a clean folder and from the user's."""
    hostile = {"CUDA_HOME": str(ground.mine / "cuda"), "SUDO_UID": str(USER)}
    for machine in sorted(MACHINES.iterdir())[::7]:
        if not (machine / "machine.json").exists():
            continue
        words = ["doctor", "--replay", machine / "machine.json", "--json"]
        clean, hostile_run = run("clean", words, "/"), run("hostile", words, ground.mine, hostile)
        findings = lambda text: [f["id"] for f in json.loads(text)["findings"]]
        expect(clean[1] and clean[0] == hostile_run[0] and findings(clean[1]) == findings(hostile_run[1]), f"{machine.name}: another answer")


def main():
    global GPUREADY, MACHINES, MACHINE, GGUF, RESULTS, BENCH
    GPUREADY, MACHINES = os.path.realpath(sys.argv[1]), Path(sys.argv[2]).resolve()
    MACHINE = MACHINES / "healthy-after-driver-reload/machine.json"
    if os.geteuid() != 0:
        print("SKIPPED: needs root")
        return 77
    place = os.environ.get("HOSTILE_PLACE")
    if not place:
        place = tempfile.mkdtemp(dir="/var/tmp", prefix="hostile-user-")  # on a disk, where huge files are sparse
        try:
            return subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, __file__, *sys.argv[1:]],
                                  env={**os.environ, "HOSTILE_PLACE": place}, check=False).returncode
        finally:
            shutil.rmtree(place)
    os.chmod(place, 0o755)
    for folder, mode in (("/tmp", 0o1777), ("/var/lib", 0o755), ("/root", 0o755)):
        empty = Path(place) / folder.replace("/", "_")
        empty.mkdir()
        empty.chmod(mode)
        if subprocess.run(["mount", "--bind", empty, folder]).returncode:
            print("SKIPPED: no mount namespace can be made here")
            return 77
    begin = time.monotonic()
    own = Path("/tmp/own")
    own.mkdir(mode=0o755)
    program = own / "gpuready"  # where the user may run it, too
    shutil.copy(GPUREADY, program)
    GPUREADY = shared.program = str(program)
    GGUF, RESULTS = own / "model.gguf", own / "results"
    BENCH = ["bench", "run", "--device", "cpu", "--stack", "gpuready,torch_eager", "--task", "gemm", "--m", "64", "--n", "64", "--k", "64",
             "--repeats", "1", "--iters", "1", "--warmup", "0", "--max-seconds", "0.05", "--no-check"]
    scripts = Path(__file__).resolve().parent.parent / "cli"
    subprocess.run([sys.executable, scripts / "gguf.py", GGUF, "tq2"], check=True)
    subprocess.run([sys.executable, scripts / "bench_runs.py", RESULTS, "first", "0", "60", "1000", "1001", "1002"], check=True)
    inputs = Inputs(own, MACHINE, GGUF, RESULTS, BENCH)
    tests = {"outputs": outputs, "swapped_folder": swapped_folder, "planted_programs": planted_programs, "planted_stores": planted_stores,
             "answers_are_the_same": answers_are_the_same,
             "half_of_the_commands": lambda ground: every_command(ground, inputs, 0),
             "other_half_of_the_commands": lambda ground: every_command(ground, inputs, 1)}
    for name in sys.argv[3:] or tests:
        tests[name](Ground(name))
        print(f"{name}: {shared.checked} checks, {len(shared.failures)} failed so far, {time.monotonic() - begin:.0f} s", flush=True)
    print(f"{shared.checked - len(shared.failures)} passed, {len(shared.failures)} failed")
    return 1 if shared.failures else 0


if __name__ == "__main__":
    sys.exit(main())
