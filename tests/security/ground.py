"""What a hostile user and root's commands share: folders, plants, and how a command is run and judged."""
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path

USER = 54321  # has no account
LIMIT_S = 30
program = ""  # gpuready
failures = []
checked = 0


def expect(holds, what):
    global checked
    checked += 1
    if not holds:
        failures.append(what)
        print("FAILED:", what, flush=True)


def as_user(work):
    """Runs `work` in a child that is the hostile user."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            os.umask(0)
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0, "the user could not plant"


def snapshot(folder):
    """Each entry with its type, mode, owner and content."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = Path(root) / name
            status = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(status.st_mode) else ""
            found[str(path)] = (stat.filemode(status.st_mode), status.st_uid, content)
    return found


class Ground:
    """Root's private folder beside the user's own folder and one that all may write."""

    def __init__(self, name):
        self.top = Path("/tmp") / name
        self.top.mkdir(mode=0o755)
        self.root = self.top / "root"
        self.root.mkdir(mode=0o755)
        for name in ("canary", "report.key", "state.json"):
            (self.root / name).write_text("root's own\n")
            (self.root / name).chmod(0o600)
        (self.root / "folder").mkdir(mode=0o700)
        (self.root / "folder/kept").write_text("root's own\n")
        self.mine = self.top / "user"
        self.mine.mkdir()
        os.chown(self.mine, USER, USER)
        self.shared = self.top / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        self.before = snapshot(self.root)

    def unchanged(self, what):
        after = snapshot(self.root)
        expect(after == self.before, f"{what}: root's folder changed: "
               f"{[p for p in set(after) | set(self.before) if after.get(p) != self.before.get(p)]}")
        if after != self.before:
            shutil.rmtree(self.root)
            self.root.mkdir(mode=0o755)
            self.__class__.restore(self)

    def restore(self):
        for path, (mode, _, _) in self.before.items():
            if mode.startswith("d"):
                os.makedirs(path, exist_ok=True)
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                Path(path).write_text("root's own\n")
                os.chmod(path, 0o600)
        self.before = snapshot(self.root)


def run(what, args, cwd, env=None, limit=LIMIT_S, memory_mb=4096):
    base = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    texts = [tempfile.TemporaryFile("w+", errors="replace", dir="/root") for _ in range(2)]
    process = subprocess.Popen([program, *map(str, args)], cwd=cwd, env={**base, **(env or {})}, stdin=subprocess.DEVNULL,
                               stdout=texts[0], stderr=texts[1], start_new_session=True)
    end, pid = time.monotonic() + limit, 0
    while not pid and time.monotonic() < end:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        time.sleep(0 if pid else 0.002)
    if not pid:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        expect(False, f"{what}: hangs: {' '.join(map(str, args))}")
        return None, "", ""
    process.returncode = os.waitstatus_to_exitcode(status)
    for text in texts:
        text.seek(0)
    out, err = (text.read() for text in texts)
    expect(process.returncode in (0, 1, 2, 3, 4), f"{what}: exit {process.returncode}: {err[-300:]}")
    expect(used.ru_maxrss <= memory_mb << 10, f"{what}: takes {used.ru_maxrss >> 10} MB: {' '.join(map(str, args))}")
    return process.returncode, out, err
