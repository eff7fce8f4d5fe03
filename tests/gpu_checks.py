#!/usr/bin/env python3
"""The checks of tests/gpu.sh: each is one function; it exits non-zero when its expectation broke, and
prints one line of detail last."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request


def run(*command, expect=None, env=None):
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if expect is not None and done.returncode not in (expect if isinstance(expect, tuple) else (expect,)):
        sys.exit(f"exit {done.returncode}, not {expect}: {' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done


def need(condition, text):
    if not condition:
        sys.stdout.flush()  # The reason comes last, for the table shows the last line.
        sys.exit("not so: " + text)


def check_json(binary, *options, expect=0, env=None):
    done = run(binary, "check", "--json", "-", *options, expect=expect, env=env)
    return json.loads(done.stdout)


def smi(fields):
    done = run("nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits", expect=0)
    return [dict(zip(fields, [v.strip() for v in line.split(", ")])) for line in done.stdout.splitlines()]


def agrees(path):
    """Facts that both tell are the same."""
    gpus = {g["uuid"]: g for g in json.load(open(path))["machine"]["gpus"] if "uuid" in g}
    rows = smi(["uuid", "name", "pci.bus_id", "driver_version", "compute_cap", "memory.total",
                "pcie.link.width.max", "pcie.link.gen.max", "ecc.mode.current", "persistence_mode"])
    need(len(rows) == len(gpus), f"{len(gpus)} GPUs, nvidia-smi has {len(rows)}")
    for row in rows:
        gpu = gpus[row["uuid"]]
        need(gpu["name"] == row["name"], f"name {gpu['name']} and {row['name']}")
        need(row["pci.bus_id"].lower().endswith(gpu["pci"]), f"address {gpu['pci']}")
        need(gpu["compute_capability"] == row["compute_cap"], "compute capability")
        need(gpu["memory"]["total_bytes"] // 2**20 == int(row["memory.total"]), "memory")
        if row["pcie.link.width.max"].isdigit():
            need(gpu["link_max"]["width"] == int(row["pcie.link.width.max"]), "link width")
    print(f"{len(rows)} GPUs: name, address, capability, memory and link agree")


def doctor_clean(binary):
    done = run(binary, "doctor", "--json", "-")
    report = json.loads(done.stdout)
    wrong = [f["id"] for f in report["findings"] if f["severity"] != "info"]
    need(not wrong, f"findings on a healthy machine: {wrong}")
    print("findings: " + (", ".join(f["id"] for f in report["findings"]) or "none"))


def metric(verdict, name):
    return next(m["value"] for m in verdict["metrics"] if m["name"] == name)


def check_figures(binary, results, gpus):
    """At most 3 s for one GPU; the driver starts more of them partly one after the other."""
    best, shares = None, {}  # of a short check, passes are as noisy as the machine: the best of five
    for _ in range(5):
        start = time.perf_counter()
        report = check_json(binary)
        wall = time.perf_counter() - start
        best = min(best or wall, wall)
        for verdict in (v for v in report["verdicts"] if v["test"] == "memory"):
            share = metric(verdict, "slowest_pass_to_copy")
            shares[verdict["subject"]] = max(shares.get(verdict["subject"], 0), share)
    json.dump(report, open(f"{results}/check.json", "w"), indent=1)
    subprocess.run([binary, "check", "--html", f"{results}/check.html", "--md", f"{results}/check.md",
                    "--prom", f"{results}/check.prom"], stdout=open(f"{results}/check.txt", "w"))
    lines = []
    for verdict in (v for v in report["verdicts"] if v["test"] == "memory"):
        coverage = verdict["coverage"]
        share = coverage["tested_bytes"] / coverage["total_bytes"]
        slowest = shares[verdict["subject"]]
        lines.append(f"{verdict['subject']}: coverage {share:.4%}, slowest pass {slowest:.3f} of copy rate, best of 5")
        print(lines[-1])
        need(share >= 0.99, f"coverage {share:.4%} is under 99%")
        need(slowest >= 0.9, f"slowest pass {slowest:.3f} of the copy rate")
    detail = f"best wall {best:.2f} s"
    if int(gpus) > 1:
        one = min(seconds(binary, "check", "--device", "0") for _ in range(3))
        detail += f", {best / one:.2f} of one GPU's {one:.2f} s"
    print(detail + "; " + "; ".join(lines))
    need(best <= 3 + 0.5 * (int(gpus) - 1), f"check took {best:.2f} s")


def exit_codes(binary, gpus):
    run(binary, "check", "--require-gpu=" + gpus, expect=0)
    run(binary, "check", "--require-gpu=" + str(int(gpus) + 1), expect=3)
    run(binary, "detect", "--require-gpu=" + gpus, expect=0)
    run(binary, "check", "--fake", "none", "--require-gpu", expect=3)
    print("0 for all, 3 for one too many or none")


def gpu_test(binary, gpus):
    start = time.perf_counter()
    done = run(binary, "gpu-test", expect=0)
    took = time.perf_counter() - start
    need(f"Found {gpus} GPUs:" in done.stdout, done.stdout)
    need(done.stdout.count("memory allocation test passed") == int(gpus), done.stdout)
    for line in done.stdout.splitlines():
        need(not re.search("failed|error|cannot|unable", line, re.I), line)
    hidden = dict(os.environ, CUDA_VISIBLE_DEVICES="")  # its caller may use none
    need("hidden-by-variable" in run(binary, "gpu-test", expect=1, env=hidden).stdout, "hidden GPUs")
    print(f"{gpus} GPUs in {took:.2f} s")


def gpu_test_names(binary, gpus):
    """Its children, which ask the GPUs, start whatever the file is called and wherever it has gone."""
    with tempfile.TemporaryDirectory() as folder:
        copy, other = folder + "/gpu_test", folder + "/worker.check"
        shutil.copy(binary, copy)
        shutil.copy(binary, other)
        os.mkdir(folder + "/links")
        os.link(copy, folder + "/links/gpu_test")
        os.symlink(binary, folder + "/gpu_test.link")
        path = dict(os.environ, PATH=folder + ":" + os.environ["PATH"])
        ways = {"copy": [copy], "hard link": [folder + "/links/gpu_test"],
                "symbolic link": ["bash", "-c", f"exec -a gpu_test {folder}/gpu_test.link"],
                "through PATH": ["gpu_test"], "another name": [other, "gpu-test"],
                "exec -a gpu_test": ["bash", "-c", f"exec -a gpu_test {other}"],
                "exec -a gpuready": ["bash", "-c", f"exec -a gpuready {copy} gpu-test"],
                "no name": ["bash", "-c", f"exec -a '' {copy} gpu-test"],
                "renamed": ["bash", "-c", f"{copy} & sleep 0.02; mv {copy} {folder}/gone; wait $!"],
                "deleted": ["bash", "-c", f"cd {folder}; mv gone gpu_test; ./gpu_test & sleep 0.02; rm gpu_test; wait $!"]}
        for name, command in ways.items():
            done = run(*command, expect=0, env=path)
            need(done.stdout.count("memory allocation test passed") == int(gpus), f"{name}: {done.stdout}")
    print(f"{len(ways)} ways")


def fitness(binary):
    report = check_json(binary, "--fitness")
    print("; ".join(f"{v['test']} {v['status']}" for v in report["verdicts"]))
    need(all(v["status"] == "passed" for v in report["verdicts"]), "a fitness check did not pass")


def injected(binary, detect):
    gpu = next(g for g in json.load(open(detect))["machine"]["gpus"] if "uuid" in g)
    report = check_json(binary, "--device", gpu["uuid"], "--inject", "bitflip", expect=1)
    need(len(report["verdicts"]) == 1, "more than the memory test ran")
    verdict = report["verdicts"][0]
    need(verdict["status"] == "failed" and verdict.get("injected_fault"), "the flip was not found")
    need(verdict["bad_words_total"] >= 1 and verdict["bad_words"][0]["bits"], "no address and bits")
    print(f"{verdict['bad_words_total']} bad word(s), first at {verdict['bad_words'][0]['offset_bytes']}")


HOLD = """
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
context, device, memory = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4 << 30)) == 0
print("held", flush=True)
time.sleep(60)
"""


def busy(binary):
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as holder:
        try:
            need(holder.stdout.readline().strip() == "held", "could not hold memory")
            verdicts = check_json(binary, "--device", "0", expect=4)["verdicts"]
            need(all(v["status"] == "not_tested" for v in verdicts), "a busy GPU was tested")
            verdict = verdicts[0]
            need(verdict["status"] == "not_tested" and verdict["reason"].startswith("busy"), verdict["reason"])
            shared = next(v for v in check_json(binary, "--device", "0", "--busy")["verdicts"] if v["test"] == "memory")
            need(shared["status"] == "passed", shared["reason"])
            left = shared["coverage"]["free_bytes"] - shared["coverage"]["tested_bytes"]
            need(left >= shared["coverage"]["total_bytes"] // 10, f"only {left} bytes left to the other")
        finally:
            holder.kill()
    print(f"refused; --busy left {left / 2**30:.1f} GiB to the other process")


def workers(parent):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            words = open(f"/proc/{pid}/cmdline").read().split("\0")
        except OSError:
            continue
        if int(stat[1]) == parent and "__worker" in words:
            found.append(int(pid))
    return found


def start_check(binary, path):
    return subprocess.Popen([binary, "check", "--json=" + path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_workers(process, count):
    for _ in range(3000):
        found = workers(process.pid)
        if len(found) >= count:
            return found
        time.sleep(0.001)
    sys.exit("no worker was seen")


def killed_worker(binary, gpus):
    with tempfile.TemporaryDirectory() as folder:
        process = start_check(binary, f"{folder}/r.json")
        time.sleep(0.05)
        os.kill(wait_for_workers(process, int(gpus))[0], signal.SIGKILL)
        code = process.wait()
        verdicts = [v for v in json.load(open(f"{folder}/r.json"))["verdicts"] if v["test"] == "memory"]
    statuses = [v["status"] for v in verdicts]
    need(code != 0 and statuses.count("passed") == int(gpus) - 1, f"exit {code}, {statuses}")
    print(f"exit {code}: " + ", ".join(f"{v['subject']} {v['status']}" for v in verdicts))


def interrupted(binary):
    with tempfile.TemporaryDirectory() as folder:
        process = start_check(binary, f"{folder}/r.json")
        children = wait_for_workers(process, 1)
        process.send_signal(signal.SIGINT)
        code = process.wait()
        report = json.load(open(f"{folder}/r.json"))
        time.sleep(0.5)
        left = [pid for pid in children if os.path.exists(f"/proc/{pid}")]
    need(code == 130 and not left, f"exit {code}, left {left}")
    need(all(v["status"] != "passed" for v in report["verdicts"]), "passed though interrupted")
    print("exit 130: " + report["verdicts"][0]["reason"])


HOLDER = """
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code: sys.exit(f"{name} returned {code}")
device, context, total, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_uint64()
call("cuInit", 0); call("cuDeviceGet", ctypes.byref(device), 0); call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
held = int(float(sys.argv[1]) * total.value)
call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(held)); call("cuMemsetD8_v2", address, 1, ctypes.c_size_t(held))
print(held, flush=True)
time.sleep(600)
"""


def memory_used_mib():
    return max(int(row["memory.used"]) for row in smi(["memory.used"]))


def unknown_use(binary):
    """NVML is hidden and a neighbour holds three quarters of the memory: nothing has passed."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, "0.75"], stdout=subprocess.PIPE, text=True)
    try:
        held = int(holder.stdout.readline())
        hidden = dict(os.environ, GPUREADY_LIBNVML="/dev/null")
        report = check_json(binary, "--device", "0", expect=(1, 4), env=hidden)
        told = [v for v in report["verdicts"] if v["test"] == "memory"]
        need(all(v["status"] != "passed" for v in told), f"passed beside a neighbour: {told}")
        print(f"a neighbour holds {held / 2**30:.0f} GiB: " + "; ".join(f"{v['status']}: {v['reason']}" for v in told))
    finally:
        holder.kill()
        holder.wait()


def library_path(name):
    """As the loader finds it."""
    import ctypes
    ctypes.CDLL(name)
    return next(line.split()[-1] for line in open("/proc/self/maps") if name.split(".so")[0] in line)


def named_libraries(binary):
    """The real libraries, named by variables: tested, marked in every form, and nothing is proven."""
    named = {"GPUREADY_LIBNVML": library_path("libnvidia-ml.so.1"), "GPUREADY_LIBCUDA": library_path("libcuda.so.1")}
    for variable, path in named.items():
        env = dict(os.environ, **{variable: path})
        mark = f"{variable}={path}"
        with tempfile.TemporaryDirectory() as folder:
            forms = {form: f"{folder}/report.{form}" for form in ("html", "md", "prom")}
            report = check_json(binary, *(f"--{form}={file}" for form, file in forms.items()), expect=4, env=env)
            for form, file in forms.items():
                need(path in open(file).read(), f"{variable} is not named in the {form} report")
        need(all(v["status"] == "passed" for v in report["verdicts"] if v["test"] in ("memory", "compute")), "tested")
        need(mark in report["conclusion"] and "ready" not in report["conclusion"], report["conclusion"])
        need(path in run(binary, "gpu-test", expect=1, env=env).stdout, "gpu-test names it")
        check_json(binary, expect=0, env=dict(env, GPUREADY_TRUST_NAMED_LIBRARIES="1"))
        refused = run(binary, "check", expect=2, env=dict(env, GPUREADY_STRICT="1"))
        need(mark in refused.stderr, refused.stderr)
    print(", ".join(named) + ": exit 4, marked in every form, refused by GPUREADY_STRICT")


def refused_code(binary):
    """The driver is told to compile no PTX, so it loads none of ours."""
    report = check_json(binary, expect=(1, 4), env=dict(os.environ, CUDA_DISABLE_PTX_JIT="1", CUDA_CACHE_DISABLE="1"))
    told = [v for v in report["verdicts"] if v["test"] in ("memory", "compute")]
    need(told and all(v["status"] != "passed" for v in told), f"passed without code: {told}")
    need("0 of" in report["conclusion"], report["conclusion"])
    print("; ".join(sorted({f"{v['status']}: {v['reason']}" for v in told})))


def killed_parent(binary):
    """The command is killed in the middle: within 5 s no worker runs and the GPU's memory is free again."""
    before = memory_used_mib()
    process = subprocess.Popen([binary, "test", "--only", "memory", "--duration", "120", "--no-color"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while memory_used_mib() < before + 20_000 and time.monotonic() < deadline:
        time.sleep(0.2)
    need(memory_used_mib() >= before + 20_000, "the test did not take the memory")
    process.kill()
    process.wait()
    start = time.monotonic()
    workers = lambda: subprocess.run(["pgrep", "-f", "gpuready __"], capture_output=True, text=True).stdout.split()
    while (workers() or memory_used_mib() > before + 1000) and time.monotonic() < start + 10:
        time.sleep(0.1)
    took = time.monotonic() - start
    need(not workers() and took <= 5, f"after {took:.1f} s: workers {workers()}, {memory_used_mib()} MiB used, {before} before")
    print(f"no worker and no memory left after {took:.1f} s")


def replay(binary, results):
    live = json.loads(run(binary, "doctor", "--json", "-").stdout)
    for name, option in (("plain", []), ("redacted", ["--redact"])):
        path = f"{results}/{name}.tar.zst"
        if os.path.exists(path):
            os.unlink(path)
        run(binary, "record", path, *option, expect=0)
        again = json.loads(run(binary, "doctor", "--replay", path, "--json", "-").stdout)
        need([f["id"] for f in again["findings"]] == [f["id"] for f in live["findings"]], "other findings")
        for one, two in zip(live["machine"]["gpus"], again["machine"]["gpus"]):
            for key in ("name", "pci", "compute_capability", "link_max", "ecc", "multiprocessors"):
                need(one.get(key) == two.get(key), f"{name}: {key}")
        uuids = [g["uuid"] for g in live["machine"]["gpus"]]
        text = subprocess.run(f"zstd -dc {path} || true", shell=True, capture_output=True).stdout
        if option and text:
            need(not any(u[4:].encode() in text for u in uuids), "a UUID is in the redacted recording")
    print(f"same findings and facts; {os.path.getsize(path)} bytes redacted")


def fleet(binary, results):
    """This machine's report in a fleet: it is ready, a fleet that lacks nodes is not, and a copy under another name is
    found. Beside a job that holds the GPU: scrapes, Slurm's hooks and the state of the latest test."""
    report = check_json(binary)
    name = report["machine"]["system"]["host_name"]
    path = os.path.join(results, "fleet_report.json")
    json.dump(report, open(path, "w"))

    def merged(expect, *arguments):
        return json.loads(run(binary, "fleet", "merge", "--json", "-", path, *arguments, expect=expect).stdout)["fleet"]["nodes"]

    nodes = merged(0, "--nodes", name)
    need([n["state"] for n in nodes] == ["ready"], f"states {nodes}")
    states = {n["name"]: n["state"] for n in merged(4, "--nodes", name + ",absent-node")}
    need(states["absent-node"] != "ready", f"a node that never reported: {states}")
    twin = path + ".twin.json"
    report["machine"]["system"]["host_name"] = "another-name"
    json.dump(report, open(twin, "w"))
    need(all(n["state"] != "ready" for n in merged(4, twin)), "the same GPUs on two nodes are ready")

    folder = tempfile.mkdtemp(prefix="gpuready-fleet-")
    state = os.path.join(folder, "last.json")
    run(binary, "check", "--state", state, expect=0)
    exporter = subprocess.Popen([binary, "exporter", "--listen", "127.0.0.1:0", "--interval", "2", "--state", state],
                                stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"on ([0-9.:]+)", exporter.stderr.readline()).group(1)
        with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as holder:
            need(holder.stdout.readline().strip() == "held", "could not hold memory")
            pages, times_ms = [], []
            while len(pages) < 200 or not all(g["uuid"] in pages[-1] for g in report["machine"]["gpus"]):
                need(len(pages) < 2000, "a GPU is not in the metrics")
                start = time.monotonic()
                with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
                    pages.append(answer.read().decode())
                times_ms.append((time.monotonic() - start) * 1e3)
                time.sleep(0.02)
            hooks = []
            for hook in ("prolog", "health"):
                start = time.monotonic()
                run(binary, "slurm", hook, "--dry-run", "--node", name, "--folder", folder, expect=0,
                    env={**os.environ, "SLURM_JOB_GPUS": "0"})
                hooks.append(time.monotonic() - start)
            run(binary, "status", "--state", state, expect=0)
            holder.kill()
    finally:
        exporter.terminate()
        exporter.wait(timeout=10)
        shutil.rmtree(folder)
    times_ms.sort()
    need(times_ms[len(times_ms) // 2] < 20, f"scrape {times_ms[len(times_ms) // 2]:.1f} ms")
    need(max(hooks) < 10, f"hooks {hooks}")
    print(f"ready by its own report; beside a job: scrape {times_ms[len(times_ms) // 2]:.1f} ms, slowest "
          f"{times_ms[-1]:.1f}; prolog {hooks[0]:.2f} s, health {hooks[1]:.2f} s")


def seconds(*command):
    start = time.perf_counter()
    run(*command, expect=0)
    return time.perf_counter() - start


def standard(binary, results, gpus):
    """Every test of the standard level passes, in at most 40 s; from the third GPU on, pairs meet in more rounds."""
    start = time.perf_counter()
    done = run(binary, "test", "--level", "standard", f"--json={results}/standard.json", "--html",
               f"{results}/standard.html", "--no-color")
    wall = time.perf_counter() - start
    print(done.stdout)
    report = json.load(open(f"{results}/standard.json"))
    for verdict in report["verdicts"]:
        print(verdict["subject"], verdict["test"], verdict["status"], verdict["reason"])
        for m in verdict["metrics"]:
            print(f"    {m['name']} = {m['value']:.5g} {m['unit']}"
                  + (f" (at least {m['threshold']:.5g}: {m.get('threshold_source')})" if "threshold" in m else ""))
    need(done.returncode == 0, f"exit {done.returncode}: {report['conclusion']}")
    tests = {v["test"] for v in report["verdicts"]}
    want = {"memory", "compute", "tensor", "bandwidth"} | ({"peers"} if int(gpus) > 1 else set())
    need(want <= tests, f"tests {tests}")
    need(all(v["status"] == "passed" for v in report["verdicts"]), "not all passed")
    limit = 40 + 4 * max(0, int(gpus) - 2)
    need(wall <= limit, f"{wall:.1f} s, over {limit} s")
    memory = next(v for v in report["verdicts"] if v["test"] == "memory")
    need(metric(memory, "slowest_pass_to_copy") >= 0.95, "a pattern is slower than 0.95 of the copy rate")
    if any(name in gpu["name"] for gpu in report["machine"]["gpus"][:1] for name in ("H100", "H200")):
        # What an SM does in a cycle, and the clock that it counts itself.
        for test, name, least in (("compute", "fma_per_sm_cycle", 120), ("tensor", "burn_operations_per_sm_cycle", 4000),
                                  ("clocks", "sm_clock_counted_to_told", 0.9)):
            for verdict in (v for v in report["verdicts"] if v["test"] == test):
                need(metric(verdict, name) >= least, f"{verdict['subject']}: {name} = {metric(verdict, name)}")
    detail = f"{len(report['verdicts'])} verdicts passed in {wall:.1f} s"
    if int(gpus) > 1:
        # Both again: by now the driver has compiled and kept every kernel.
        one, both = (seconds(binary, "test", "--level", "standard", *only) for only in (["--device", "0"], []))
        detail += f"; again {both:.1f} s, {both / one:.2f} of one GPU's {one:.1f} s"
        print(detail)
        need(int(gpus) > 2 or both <= 1.15 * one, "two GPUs take over 1.15 times as long as one")
    print(detail)


def selftest(binary, results, trials, *options):
    """Every fault class is found, at its place, and no clean run fails."""
    done = run(binary, "selftest", "--trials", trials, f"--json={results}/selftest.json", "--no-color", *options)
    print(done.stdout)
    report = json.load(open(f"{results}/selftest.json"))
    need(done.returncode == 0, f"exit {done.returncode}: {report['conclusion']}")
    tried = [r for r in report["rows"] if r["trials"]]
    lowest = min(r["rate_low"] for r in tried if "fault" in r and r["faults"] == 1)
    print(f"{len(tried)} cases, {sum(r['trials'] for r in tried)} trials, all found; "
          f"rate at least {lowest:.2%} (95%), {sum(r['false_alarms'] for r in tried)} false alarms")


def ternary(binary, results, gpus):
    """Every CPU tier that is here and every GPU agrees with 64-bit sums, bit for bit; then their times."""
    path = f"{results}/ternary.json"
    done = run(binary, "ternary", "verify", "--json=" + path, "--no-color", expect=0)
    print(done.stdout)
    report = json.load(open(path))
    passed = [s for s in report["subjects"] if s["status"] == "passed"]
    need(sum(s["name"].startswith("cuda") for s in passed) == int(gpus), "a GPU was not verified")
    print(run(binary, "ternary", "bench", "--no-color", expect=0).stdout)
    values = sum(c["elements"] for c in report["checks"])
    print(f"{', '.join(s['name'].split(':')[0] for s in passed)}: {values} values, all equal")


def own_stacks(binary, results):
    """gpuready's own stacks do every workload; their digests are those of the work."""
    done = []
    for task in "mlp", "gemm", "attention", "copy", "ternary":
        for dtype in "fp32", "bf16", "fp16":
            path = f"{results}/bench-{task}-{dtype}.json"
            run(binary, "bench", "run", "--task", task, "--dtype", dtype, "--device", "cuda", "--stack",
                "gpuready", "--iters", "20", "--warmup", "5", "--repeats", "1", "--max-seconds", "0.3", "--no-check",
                "-q", "--results", f"{results}/bench-results", "--json=" + path, expect=0)
            with open(path) as file:
                stack = json.load(file)["run"]["stacks"][0]
            need(stack["status"] == "ok", f"{task} in {dtype}: {stack['status']}: {stack.get('reason')}")
            done.append(task)
    path, begin = f"{results}/bench-roofline.json", time.monotonic()
    run(binary, "bench", "run", "--task", "gemm", "--dtype", "bf16", "--device", "cuda", "--stack", "gpuready", "--iters",
        "20", "--warmup", "5", "--repeats", "1", "--max-seconds", "0.3", "--no-check", "-q", "--roofline", "--results",
        f"{results}/bench-results", "--json=" + path, expect=0)
    with open(path) as file:
        roofline = json.load(file)["run"]["roofline"]
    print(f"{len(set(done))} workloads in 3 dtypes, digests right; roofline {roofline['bytes_per_s'] / 1e12:.2f} TB/s and "
          f"{roofline['flops_per_s'] / 1e12:.0f} TFLOPS in bf16, {time.monotonic() - begin:.1f} s")


def no_false_alarm(binary, runs):
    for _ in range(int(runs)):
        check_json(binary)
    print(f"{runs} of {runs} clean")


# Matrix products on GPU 0 for some seconds, once a line is read; PyTorch is imported before that.
NEIGHBOUR = """
import sys, time, torch
print("loaded", flush=True)
sys.stdin.readline()
begun = time.monotonic()
x = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
while time.monotonic() - begun < 4:
    for _ in range(20): y = x @ x
    torch.cuda.synchronize()
"""


def false_alarm_under_load(binary, rounds="5"):
    """Every core taken twice, 2 GiB in the cgroup, a neighbour that begins in the middle: no GPU is called broken."""
    told = []
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        for _ in range(int(rounds)):
            check_json(binary)
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    told.append(f"every core taken twice: {rounds} clean")

    group = "/sys/fs/cgroup/gpuready-test"
    try:
        os.mkdir(group)
        with open(group + "/memory.max", "w") as limit:
            limit.write(str(2 << 30))
        for _ in range(int(rounds)):
            run("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" check', binary, expect=0)
        told.append(f"2 GiB in the cgroup: {rounds} clean")
    except OSError as error:
        told.append(f"no cgroup here ({error.strerror})")
    finally:
        if os.path.isdir(group):
            os.rmdir(group)

    answers = {0: 0, 4: 0}
    for turn in range(int(rounds)):
        with subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            if other.stdout.readline().strip() != "loaded":
                told.append("no PyTorch for a neighbour")
                break
            with subprocess.Popen([binary, "test", "--only", "compute,tensor", "--json", "-"], stdout=subprocess.PIPE, text=True) as test:
                time.sleep(0.3 + 0.3 * turn)
                other.stdin.write("go\n")
                other.stdin.flush()
                report = json.loads(test.stdout.read())
            need(test.returncode in answers, f"a neighbour that began: exit {test.returncode}: {report['conclusion']}")
            need(test.returncode == 0 or "busy" in json.dumps(report["verdicts"]), f"not told as busy: {report['conclusion']}")
            answers[test.returncode] += 1
    told.append(f"a neighbour that begins meanwhile: {answers[0]} passed, {answers[4]} told as busy")
    print("; ".join(told))


def times(binary, results, gpus):
    done = run(sys.executable, "benchmarks/command_times.py", binary)
    open(f"{results}/times.txt", "w").write(done.stdout)
    print(done.stdout)
    need(done.returncode == 0, done.stderr)
    median = {m[1].strip(): float(m[2]) for m in re.finditer(r"^(.{34}) +([\d.]+) ", done.stdout, re.M)}
    best = {m[1].strip(): float(m[3]) for m in re.finditer(r"^(.{34}) +([\d.]+) +([\d.]+)", done.stdout, re.M)}
    detect, files = median["gpuready detect"], best["gpuready detect --no-libraries"]
    floor = median["the NVML calls of detect alone"]
    need(detect <= 1.15 * floor, f"detect {detect} ms, its NVML calls alone {floor} ms")
    # A ratio: starting a process takes twice as long on some hosts. The driver answers for each GPU in procfs.
    query = best["nvidia-smi --query-gpu"]
    need(files <= 0.25 * query, f"--no-libraries {files} ms, nvidia-smi --query-gpu {query} ms")
    print(f"detect {detect} ms = {detect / floor:.3f} of its NVML calls alone, {detect / median['nvidia-smi']:.3f} of nvidia-smi, "
          f"{detect / median['nvidia-smi --query-gpu']:.3f} of --query-gpu; files only {files} ms")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
