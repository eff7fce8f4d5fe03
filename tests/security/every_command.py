"""Root runs every command of the command line in a user's folder, on a user's outputs and on a user's inputs.

The commands are those that the program's own help lists; one that is missing in CASES fails the test.
"""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import ground as shared
from ground import as_user, expect, run

HUGE = 3 << 30  # bytes of a sparse file
NO_DEVICE = "0000:ff:1f.7"


class Inputs:
    """Root's own inputs, and what each command is called with.

    IN is the input, OUT a new output of root's; the other words are root's own files.
    """

    def __init__(self, own, machine, gguf, results, bench):
        self.own, self.number = own, 0
        here = own / "inputs"
        (here / "source/cpu").mkdir(parents=True)
        (here / "source/cpu/lib.txt").write_text("of the package\n")
        recipe, key, release, store = here / "pack.toml", here / "key", here / "release", here / "store"
        recipe.write_text('name = "demo"\nversion = "1.0"\nfolder = "source/{variant}"\n[variants.cpu]\n')
        policy, console, driver, bundles = here / "policy.toml", here / "console.log", here / "driver", here / "bundles"
        console.write_text("[    0.1] Linux version 6.1.0\n[    1.0] NVRM: loading NVIDIA UNIX Open Kernel Module\n")
        imported = here / "google.json"
        imported.write_text('{"context": {}, "benchmarks": [{"name": "a", "run_type": "iteration", "iterations": 1, '
                            '"real_time": 1.0, "cpu_time": 1.0, "time_unit": "ns"}]}\n')
        slurm, topology = here / "slurm.conf", here / "topology.conf"
        slurm.write_text("ClusterName=c\nGresTypes=gpu\nNodeName=n1 Gres=gpu:1\n")
        topology.write_text("SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\n")
        stub = Path(__file__).resolve().parent.parent / "vm/stub_driver.sh"
        subprocess.run(["bash", "-ec", f". {stub}; make_stub_driver driver 580.65.06"], cwd=here, check=True, capture_output=True)
        reports = here / "reports"
        bundles.mkdir()
        reports.mkdir()
        install = ["pack", "install", release, "--key", f"{key}.pub", "--variant", "cpu", "--no-load-test", "--to"]
        for words in (["policy", "init", policy, "--replay", machine], ["pack", "key", key, "--no-password"],
                      ["pack", "build", recipe, "--out", here / "built"],
                      ["pack", "publish", recipe, "--built", here / "built", "--to", release, "--key", f"{key}.key"],
                      ["check", "--level", "quick", "--device", "cpu", "--state", here / "results.json"],
                      ["detect", "--replay", machine, f"--json={reports}/n1.json"], [*install, store], ["vm", "drivers", "collect", driver, "-o", bundles / "b"]):
            code, _, err = run("root's inputs", words, here)
            expect(code == 0, f"root's inputs: {words[:3]}: {err}")
        # The least work of commands that need no argument.
        self.least = {"exporter": ["--once"], "kubernetes condition": ["untested"], "kubernetes copy": ["copied"],
                      "check": ["--level", "quick"], "test": ["--level", "quick"], "selftest": ["--trials", "1", "--inject", "bitflip"],
                      "ternary bench": ["--device", "cpu", "--shape", "64x64"], "ternary verify": ["--device", "cpu", "--tier", "scalar"],
                      "bench run": bench[2:]}
        archive = next((here / "built").rglob("*.zst"), here / "built")
        runs, package, to = ["--results", "IN"], ["demo", "--to", "IN"], ["--to", "OUT"]
        replayed = [(["--replay", "IN"], machine)]
        self.cases = {
            "check": [*replayed, (["--replay", machine, "--policy", "IN"], policy), (["--replay", machine, "--baseline", "IN"], machine)],
            "test": replayed,
            "selftest": replayed,
            "detect": replayed,
            "doctor": [*replayed, (["--replay", machine, "--baseline", "IN"], machine)],
            "record": [(["OUT"], None)],
            "status": [(["--state", "IN"], here / "results.json")],
            "policy check": [(["IN", "--replay", machine], policy)],
            "policy init": replayed,
            "gpu-test": replayed,
            "ternary inspect": [(["IN"], gguf)],
            "ternary convert": [(["IN", "OUT", "--to", "tq2_0"], gguf)],
            "ternary verify": [(["--device", "cpu", "IN"], gguf)],
            "ternary bench": [(["--device", "cpu", "--shape", "64x64", "--threads", "1"], None)],
            "pack inspect": [(["IN"], archive), (["IN"], shared.program)],
            "pack explain": [(["IN", "--gpu", "8.6", "--driver", "550"], archive)],
            "pack key": [(["OUT", "--no-password"], None), (["OUT", "--package", "demo", "--signed-by", "IN", "--no-password"], f"{key}.key")],
            "pack init": [(["cpu=IN", "--name", "demo", "--out", "OUT"], here / "built")],
            "pack build": [(["IN", "--out", "OUT"], recipe)],
            "pack publish": [(["IN", "--built", here / "built", "--key", f"{key}.key", *to], recipe),
                             ([recipe, "--built", "IN", "--key", f"{key}.key", *to], here / "built"),
                             ([recipe, "--built", here / "built", "--key", "IN", *to], f"{key}.key")],
            "pack adopt": [(["cpu=IN", "--name", "demo", "--version", "2.0", "--key", f"{key}.key", *to], archive)],
            "pack select": [(["IN", "--key", f"{key}.pub", "--gpu", "8.6", "--driver", "550"], release),
                            ([release, "--key", "IN", "--gpu", "8.6", "--driver", "550"], f"{key}.pub")],
            "pack install": [(["IN", *install[3:], "OUT"], release)],
            "pack list": [(package, store)],
            "pack verify": [(package, store)],
            "pack rollback": [(package, store)],
            "pack gc": [(package, store)],
            "pack env": [(package, store)],
            "pack uninstall": [(["demo", *to], None)],
            "bench run": [([*bench[2:], "--results", "OUT"], None)],
            "bench adapter": [(["--stack", "gpuready", "--env"], None)],
            "bench compare": [(["first", "first", *runs], results)],
            "bench promote": [(["first", "first", *runs], results)],
            "bench loop": [(["first", "first", "--command", "true", "--max-runs", "3", *runs], results)],
            "bench history": [(runs, results)],
            "bench report": [(runs, results), (["IN", "--results", results], next(results.rglob("*.json")))],
            "bench import": [(["IN", "--results", "OUT"], imported)],
            "bench export": [(["first", "--format", "csv", *runs], results)],
            "kubernetes condition": [(["not-ready", "--replay", "IN"], machine), (["untested", "--state", "IN"], here / "results.json")],
            "kubernetes features": [(["--replay", "IN"], machine), (["--replay", machine, "--out", "OUT"], None)],
            "kubernetes event": [(["--node", "n", "--socket", here / "nothing", "--replay", "IN"], machine)],
            "kubernetes copy": [(["OUT"], None)],
            "exporter": [(["--once", "--replay", "IN"], machine), (["--once", "--replay", machine, "--state", "IN"], here / "results.json")],
            "fleet merge": [(["IN"], reports), (["IN", "--history", "OUT"], reports)],
            "fleet slow": [(["--plan", "--nodes", "n[1-4]", "--topology", "IN"], topology), (["--nodes", "n[1-4]", "--command", "echo 1", "--rounds", "1", "--results", "OUT"], None)],
            "slurm health": [(["--node", "n1", "--dry-run", "--replay", "IN"], machine)],
            "slurm prolog": [(["--node", "n1", "--dry-run", "--replay", "IN"], machine)],
            "slurm epilog": [(["--node", "n1", "--dry-run", "--replay", "IN"], machine)],
            "slurm install": [(["--conf", "IN"], slurm)],
            "slurm doctor": [(["--replay", machine, "--conf", "IN"], slurm)],
            "vm list": replayed,
            "vm show": replayed,
            "vm plan": [([NO_DEVICE, "--replay", "IN"], machine)],
            "vm attach": [([NO_DEVICE], None)],
            "vm detach": [([NO_DEVICE], None)],
            "vm args": [(["--for", "web-1", "--replay", "IN"], machine)],
            "vm plug": [(["--for", "web-1", "--qmp", "none", "--replay", "IN"], machine)],
            "vm unplug": [(["--for", "web-1", "--qmp", "none", "--replay", "IN"], machine)],
            "vm status": replayed,
            "vm recover": [([], None)],
            "vm hold": [([], None)],
            "vm doctor": [*replayed, (["--console", "IN"], console)],
            "vm drivers collect": [(["IN", "-o", "OUT"], driver)],
            "vm drivers list": [(["IN"], bundles)],
            "vm drivers show": [(["IN"], bundles / "b")],
            "vm drivers verify": [(["IN"], bundles / "b")],
            "vm drivers fetch": [(["http://127.0.0.1:9/driver.run", "--sha256", "0" * 64, "-o", "OUT"], None)],
            "vm drivers upgrade": [(["IN", "--to", "b"], bundles)],
            "vm compat": [(["--image-cuda", "12.4", "--bundle", "IN"], bundles / "b"), (["--image-cuda", "12.4", "--driver", "550", "--rootfs", "IN"], driver)],
            "vm initrd": [(["IN", "-o", "OUT", "--segment"], bundles / "b")],
        }

    def words(self, command, args, given):
        """The command line, with this input and an output that was never there."""
        self.number += 1
        named = {"IN": str(given), "OUT": str(self.own / f"out{self.number}")}
        return [*command.split(), *(re.sub(r"\b(IN|OUT)$", lambda at: named[at[1]], str(word)) for word in args)]


def commands(group=()):
    """Each command that is not a group, with its help, as the program itself lists them."""
    text = subprocess.run([shared.program, *group, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
    if not listed:
        return {" ".join(group): text}
    found = {}
    for name in re.findall(r"^  (\S+)", listed[1], re.MULTILINE):
        found.update(commands((*group, name)))
    return found


# ---- what a user puts in place of a file

def huge(path, start=b""):
    path.write_bytes(start)
    os.truncate(path, HUGE)


KINDS = {
    "a huge file": lambda path, start: huge(path),
    "a file that is huge behind its start": huge,
    "a pipe": lambda path, start: os.mkfifo(path),
    "a link to an endless device": lambda path, start: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path, start: path.symlink_to(path),
    "a folder": lambda path, start: path.mkdir(),
}


def plant(kind, path, original):
    """In place of root's file, or of each file of root's folder."""
    original = Path(original)
    files = [file for file in original.rglob("*") if file.is_file()] if original.is_dir() else [original]
    starts = {path / file.relative_to(original): file.read_bytes()[:1 << 20] for file in files}

    def put():
        for place, start in starts.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            KINDS[kind](place, start)

    as_user(put)


# What commands read or write by default, in the current folder.
DEFAULTS = ("pack.toml", "pack.key", "pack.pub", "policy.toml", "gpuready.toml", "keys.json", "bundle.json", "manifest.json",
            "bench-results/history.json", "bench-results/first.json", "build/pack/demo-1.0-cpu.tar.zst", "gpu_test", "libcuda.so.1", "libnvidia-ml.so.1")


def first_line(text):
    return re.sub(r"\b[0-9A-F]{16}\b|[0-9.]+", "#", text.strip().partition("\n")[0])


def every_command(ground, inputs, first):
    """Every second one, from number `first` on."""
    found = commands()
    expect(set(found) == set(inputs.cases), f"commands of the help and of the test differ: {sorted(set(found) ^ set(inputs.cases))}")

    for number, kind in enumerate(KINDS):
        for name in DEFAULTS:
            plant(kind, ground.mine / f"here{number}" / name, shared.program)

    def plant_more():
        (ground.mine / "report").symlink_to(ground.root / "canary")
        recipe = ground.mine / "recipe/pack.toml"
        recipe.parent.mkdir()
        recipe.write_text('name = "demo"\nversion = "1.0"\nfolder = "."\n[variants.cpu]\n'
                          f'build = ["touch", "{ground.root}/ran"]\n')

    as_user(plant_more)
    hostile = {"TMPDIR": str(ground.shared), "CUDA_HOME": str(ground.mine), "SUDO_UID": str(shared.USER)}
    for command, cases in [*inputs.cases.items()][first::2]:
        begin = time.monotonic()
        for args, given in cases:
            # In root's own folder, and in one of the user's.
            answer = None
            for number in (-1, inputs.number % len(KINDS)):
                where = inputs.own if number < 0 else ground.mine / f"here{number}"
                code, out, _ = run(command, inputs.words(command, args, given), where, {} if number < 0 else hostile, 120)
                answer = answer or (code, first_line(out))
                expect((code, first_line(out)) == answer, f"{command} in {where}: {(code, first_line(out))} instead of {answer}")
            # On the user's input.
            for kind in KINDS if given else ():
                path = ground.mine / f"input{inputs.number}"
                plant(kind, path, given)
                run(f"{command} of {kind}", inputs.words(command, args, path), inputs.own, limit=120)
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        # With the defaults, where the user has put something else.
        for kind, name in [*((kind, f"here{number}") for number, kind in enumerate(KINDS)), ("a recipe that runs", "recipe")]:
            run(f"{command} beside {kind}", [*command.split(), *inputs.least.get(command, [])], ground.mine / name, hostile, 120)
        # Onto the user's output.
        if "--json[" in found[command]:
            args, given = cases[0]
            code, _, _ = run(f"{command} onto a link", [*inputs.words(command, args, given), f"--json={ground.mine}/report"], inputs.own)
            expect(code != 0, f"{command} onto a link: written without a word")
        ground.unchanged(command)
        print(f"  {command}: {time.monotonic() - begin:.1f} s", flush=True)
