"""What foreign_faults.py draws from: the commands, the classes of faults, and what NVML is made to tell."""


class Command:
    def __init__(self, name, words, driver=None, fake=None):
        self.name, self.words, self.driver, self.fake = name, words, driver, fake


def only(test, *more):
    return ["test", "--level", "quick", "--only", test, "--seed", "5", *more]


# What runs on the drivers in software: kernels of the memory test by their names, all others as PTX.
SOFTWARE = [Command("memory", only("memory"), "fake_cuda", "cc=9.0,memory=64MiB,sms=1"),
            Command("compute", only("compute", "--duration", "0.001"), "fake_cuda_ptx", "cc=7.0,memory=4MiB,sms=1"),
            Command("tensor", only("tensor", "--duration", "0.001"), "fake_cuda_ptx", "cc=8.0,memory=4MiB,sms=2"),
            Command("bandwidth", only("bandwidth"), "fake_cuda_ptx", "cc=9.0,memory=4MiB,sms=1"),
            Command("check", ["test", "--level", "quick", "--duration", "0.002", "--seed", "5"], "fake_cuda_ptx",
                    "cc=9.0,memory=4MiB,sms=1"),
            Command("doctor", ["doctor"], "fake_cuda_ptx", "cc=9.0,memory=4MiB,sms=1")]
GPU = [Command("memory", only("memory")), Command("compute", only("compute")),
       Command("tensor", only("tensor", "--duration", "0.3")), Command("bandwidth", only("bandwidth")),
       Command("peers", only("peers")), Command("check", ["check"]), Command("doctor", ["doctor"]),
       Command("gpu-test", ["gpu-test"])]

# NVML's answers: what is falsified and by which value; which commands owe it; whether it fails or an operator may have
# chosen it, so that a report need only name it. The same goes for what doctor warns of.
LOADED, LOOKED = ["check"], ["check", "doctor"]
NVML = [
    ("what=clock;factor={clock}", LOADED, "fail"),
    ("what=reasons;value=128", LOADED, "fail"),  # power brake
    ("what=reasons;value=64", LOADED, "fail"),  # thermal slowdown by hardware
    ("what=reasons;value=8", LOADED, "fail"),  # hardware slowdown
    ("what=lost;after=0.2", LOADED, "fail"),
    ("what=no_clock", LOADED, "fail"),
    ("what=no_maximum", LOADED, "fail"),
    ("what=memory_total;factor=2", LOADED, "fail"),
    ("what=memory_total;factor=0.5", LOADED, "fail"),
    ("what=memory_used;share=0.5", LOADED, "fail"),
    ("what=process", LOADED, "fail"),
    ("what=cores;value=128", LOADED, "fail"),
    ("what=uncorrected", LOOKED, "fail"),
    ("what=uncorrected;after=0.5", LOADED, "fail"),
    ("what=corrected;after=0.5", LOADED, "told"),
    ("what=replays;after=0.5", LOADED, "told"),
    ("what=rows_pending", LOOKED, "fail"),
    ("what=rows_failed", LOOKED, "fail"),
    ("what=rows_remapped;after=0.5", LOADED, "fail"),
    ("what=inforom", LOOKED, "fail"),
    ("what=nvlink;link=1", LOOKED, "told"),
    ("what=nvlink;link=1;after=0.5", LOADED, "fail"),
    ("what=link_width;value=4", LOADED, "told"),
    ("what=link_generation;value=1", LOADED, "fail"),
    ("what=pages_pending;value=1", LOOKED, "fail"),
    ("what=power_limit;value=200000", LOADED, "told"),
    ("what=ecc_mode;value=0", LOADED, "told"),
    ("what=xid;value=48;nth=1", LOADED, "fail"),
    ("what=xid;value=79;nth=1", LOADED, "fail"),
    ("what=field;field=230;value=2", LOOKED, "fail"),  # recovery action: reboot
]
OPERATIONS = ["memory", "compute", "tensor", "bandwidth", "peers"]


def fault(what, **keys):
    return ";".join([f"fault={what}"] + [f"{k}={v}" for k, v in keys.items()])


def draw_copy(do):
    def draw(bench, rng):
        command = bench.pick(rng, OPERATIONS)
        kind, count = rng.choice(sorted(bench.census[command.name].copies.items()))
        place = dict(at=round(rng.random(), 4), bit=rng.randrange(8)) if do == "flip" else {}
        return command, fault("copy", kind=kind, do=do, nth=rng.randint(1, count), **place), "fail"

    return draw


def draw_launch(do):
    def draw(bench, rng):
        # fake_cuda runs its kernels by their names, whatever their grids.
        command = bench.pick(rng, [o for o in OPERATIONS if do == "skip" or not bench.software or o != "memory"])
        launches = bench.census[command.name].launches
        wide = {k: n for k, n in launches.items() if do == "skip" or bench.census[command.name].blocks[k] > 1}
        if not wide:
            return None
        kernel, count = rng.choice(sorted(wide.items()))
        return command, fault("launch", kernel=kernel, do=do, nth=rng.randint(1, count)), "fail"

    return draw


def draw_told(name, factors, commands):
    def draw(bench, rng):
        command = bench.pick(rng, commands)
        return command and (command, fault(name, factor=rng.choice(factors)), "fail")

    return draw


def draw_module(bench, rng):
    command = bench.pick(rng, OPERATIONS)
    code, census = rng.choice([218, 222]), bench.census[command.name]
    if rng.random() < 0.5:
        return command, fault("module", contains=rng.choice(sorted(census.launches)), code=code), "fail"
    return command, fault("module", nth=rng.randint(1, census.modules), code=code), "fail"


def draw_fill(bench, rng):
    commands = [c.name for c in bench.commands if bench.census[c.name].fills]
    command = bench.pick(rng, commands)
    return command and (command, fault("fill", nth=rng.randint(1, bench.census[command.name].fills)), "fail")


def draw_nvml(bench, rng):
    what, commands, owes = bench.nvml.pop() if bench.nvml else rng.choice(NVML)
    if bench.software and "memory_used" in what:
        return None  # half of so small a memory is what an idle driver takes
    command = bench.pick(rng, commands)
    idle = "process" in what or "memory_used" in what  # gpu-test tests a GPU that a model uses
    if owes == "fail" and not bench.software and not idle and rng.random() < 0.2:
        command = bench.pick(rng, ["gpu-test"])
    return command, "fault=nvml;" + what.format(clock=0.5 if bench.software else 0.17), owes


# A class, how many times it is drawn in a round, and whether the drivers in software can show it.
CLASSES = [
    ("copy: bit flipped", 4, True, draw_copy("flip")),
    ("copy: second half left out", 1, True, draw_copy("short")),
    ("copy: left out", 1, True, draw_copy("skip")),
    ("fill by the driver: left out", 1, True, draw_fill),
    ("launch: left out", 3, True, draw_launch("skip")),
    ("launch: half of the grid", 1, True, draw_launch("halve")),
    ("launch: half of the blocks lost", 3, True, draw_launch("lose")),
    ("SMs: half told", 1, True, draw_told("sms", [0.5], ["check"])),
    ("memory: other size told", 1, True, draw_told("total", [0.5, 0.9], ["memory", "check"])),
    ("memory: less free told", 1, True, draw_told("free", [0.05, 0.5], ["memory", "check"])),
    ("times of events scaled", 2, True, draw_told("times", [0.5, 2, 0.1], ["memory", "compute", "tensor", "check"])),
    ("code refused", 1, True, draw_module),
    ("NVML falsified", 6, True, draw_nvml),
]
