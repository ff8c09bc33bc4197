#!/usr/bin/env python3
"""Cuts the power at every point of a wipe, on ext4 in a file.

    wipe_power_cut.py --coffer PATH [--json FILE]

For every call by which `coffer wipe` changes a file, twice: a home is put on a fresh file system, the wipe is killed
before that call, and the file system is shut down at once (EXT4_IOC_SHUTDOWN), with its journal flushed or not. What was
not flushed by then is lost, as when the power goes. After mounting again the home must be wiped, or be as it was before
with every value readable; then the wipe is finished, and the raw image, free blocks and journal included, must hold no
piece of a key: neither the device key nor a wrapped class key. The same search must find them in the image before.

Root, mkfs.ext4 and loop devices are needed; without them the script says so and exits 0. The last line is
`N cuts: N before, N wiped, N failed`.
"""

import argparse
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

PASSCODE, VALUE = b"48392017", b"the value of a token that must not be lost"
INIT = ["init", "--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2"]
SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
FLUSHED, LOST = 1, 2  # the journal is written out, or not
# Where keys lie in the key files: the device key, and the wrapped class keys.
KEYS = {"device": (32, 64), "keybag": (114, 600), "filekeys": (114, 600)}
here = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    pass


class Machine:
    def __init__(self, coffer, root):
        self.coffer, self.root = coffer, root
        self.image, self.mounted = os.path.join(root, "disk"), os.path.join(root, "mounted")
        self.home, self.log = os.path.join(self.mounted, "home"), os.path.join(root, "log")
        self.template = os.path.join(root, "template")
        self.shim = os.path.join(root, "faultshim.so")
        os.mkdir(self.mounted)
        for name in ("user", "run"):
            os.mkdir(os.path.join(root, name), 0o700)
        subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", self.shim, os.path.join(here, "faultshim.c"), "-ldl"],
                       check=True)

    def run(self, home, arguments, passcode=None, given=b"", fault=None):
        environment = {"PATH": os.environ["PATH"], "HOME": os.path.join(self.root, "user"), "LANG": "C.UTF-8",
                       "XDG_RUNTIME_DIR": os.path.join(self.root, "run"), "SWIFT_BACKTRACE": "enable=no"}
        if "LD_LIBRARY_PATH" in os.environ:
            environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        if fault:
            environment.update(LD_PRELOAD=self.shim, FI_PREFIX=home, FI_LOG=self.log, **fault)
        descriptors = []
        arguments = [self.coffer, *arguments, "--home", home]
        if passcode:
            reader, writer = os.pipe()
            os.write(writer, passcode + b"\n")
            os.close(writer)
            descriptors, arguments = [reader], [*arguments, "--passcode-fd", str(reader)]
        try:
            return subprocess.run(arguments, input=given, env=environment, pass_fds=descriptors, capture_output=True,
                                  timeout=120)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def make_template(self):
        for arguments, given in ((INIT, b""), (["token", "put", "s", "a"], VALUE)):
            done = self.run(self.template, arguments, PASSCODE, given)
            if done.returncode:
                raise Failed("%s: %s" % (arguments[0], done.stderr.decode()))
        self.pieces = []
        for name, (start, end) in KEYS.items():
            with open(os.path.join(self.template, "vault", name), "rb") as stream:
                content = stream.read()[start:end]
            pieces = (content[at : at + 16] for at in range(0, len(content) - 15, 8))
            self.pieces += [piece for piece in pieces if len(set(piece)) >= 12]
        copy = os.path.join(self.root, "counted")
        shutil.copytree(self.template, copy)
        self.run(copy, ["wipe", "--yes"], fault={"FI_ACT": "log"})
        with open(self.log, errors="backslashreplace") as stream:
            calls = [line.split(" ")[1] for line in stream]
        os.unlink(self.log)
        return calls

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.mounted], check=True)

    def unmount(self):
        subprocess.run(["umount", self.mounted], check=True)

    def make_disk(self):
        with open(self.image, "wb") as stream:
            stream.truncate(16 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True)
        self.mount()
        shutil.copytree(self.template, self.home)
        os.chmod(self.home, 0o700)
        self.unmount()
        shutil.copyfile(self.image, self.image + ".full")
        if not self.remains():
            raise Failed("control: the search finds no key in the image before the wipe")

    def fresh(self):
        shutil.copyfile(self.image + ".full", self.image)
        self.mount()

    def cut(self, how):
        folder = os.open(self.mounted, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, SHUTDOWN, struct.pack("I", how))
        finally:
            os.close(folder)
        self.unmount()
        self.mount()

    def remains(self):
        """How many pieces of keys are in the raw image."""
        with open(self.image, "rb") as stream:
            content = stream.read()
        return sum(piece in content for piece in self.pieces)

    def look(self):
        """Whether the home is `wiped` or as `before`."""
        done = self.run(self.home, ["token", "get", "s", "a"], PASSCODE)
        if done.returncode == 6:
            return "wiped"
        if done.returncode == 0 and done.stdout == VALUE:
            return "before"
        raise Failed("after the cut: exit %d %s" % (done.returncode, done.stderr.decode().strip()))


def one(machine, point, how):
    machine.fresh()
    try:
        done = machine.run(machine.home, ["wipe", "--yes"], fault={"FI_ACT": "kill", "FI_AT": str(point)})
        machine.cut(how)
        state = machine.look()
        if done.returncode == 0 and state != "wiped":
            raise Failed("reported done, and is as before")
        if state == "before" and machine.run(machine.home, ["wipe", "--yes"]).returncode:
            raise Failed("cannot be wiped after the cut")
        machine.unmount()
        left = machine.remains()
        machine.mount()
        if left:
            raise Failed("%d pieces of keys in the raw image" % left)
        if machine.look() != "wiped":
            raise Failed("came back")
        return state
    finally:
        machine.unmount()


def main():
    parser = argparse.ArgumentParser(description="Cuts the power at every point of a wipe.")
    parser.add_argument("--coffer", required=True, metavar="PATH")
    parser.add_argument("--json", metavar="FILE", help="the figures")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth point")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        print("skipped: root and mkfs.ext4 are needed")
        return 0
    if "COFFER_POWER" not in os.environ:
        # In a namespace of mounts of its own: a copy of the mount in another one would keep the file system that was
        # shut down, and mounting it again would give that one.
        environment = {**os.environ, "COFFER_POWER": "inside"}
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
            print("skipped: no mount namespace")
            return 0
        return subprocess.run(["unshare", "-m", sys.executable, *sys.argv], env=environment).returncode
    root = tempfile.mkdtemp(prefix="coffer-power-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    counts, failures = {"before": 0, "wiped": 0}, []
    try:
        machine = Machine(os.path.abspath(options.coffer), root)
        calls = machine.make_template()
        try:
            machine.make_disk()
        except (subprocess.CalledProcessError, OSError) as error:
            print("skipped: no loop device (%s)" % error)
            return 0
        for point in range(1, len(calls) + 2, options.every):
            for how in (FLUSHED, LOST):
                try:
                    counts[one(machine, point, how)] += 1
                except Failed as problem:
                    call = calls[point - 1] if point <= len(calls) else "the end"
                    failures.append("before call %d (%s), journal %s: %s" % (
                        point, call, "flushed" if how == FLUSHED else "lost", problem))
    finally:
        subprocess.run(["umount", "-q", os.path.join(root, "mounted")], stderr=subprocess.DEVNULL)
        shutil.rmtree(root, ignore_errors=True)
    for failure in failures[:10]:
        print("FAILED " + failure)
    if options.json:
        with open(options.json, "w") as stream:
            json.dump({**counts, "failures": failures, "calls": len(calls)}, stream, indent=1)
    cuts = sum(counts.values()) + len(failures)
    print("%d cuts: %d before, %d wiped, %d failed" % (cuts, counts["before"], counts["wiped"], len(failures)))
    return 1 if failures or not cuts else 0


if __name__ == "__main__":
    sys.exit(main())
