#!/usr/bin/env python3
"""Wipes on a disk that is full, and on one that was turned read-only.

    wipe_disks.py --coffer PATH

full       a memory file system without a byte left: the wipe must end with 0, and the home be wiped
read-only  nothing on the disk can be erased: the wipe must fail, take back the keys that were lent to the kernel keyring
           and leave the vault as it was; when the disk can be written again, the wipe must work

Root is needed, and a mount namespace is made; without, the script says so and exits 0. The last line is `N failed`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

PASSCODE, VALUE = b"48392017", b"a value"
INIT = ["init", "--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2"]


class Failed(Exception):
    pass


def run(options, root, arguments, passcode=None, given=b""):
    environment = {"PATH": os.environ["PATH"], "HOME": root, "LANG": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no"}
    if "LD_LIBRARY_PATH" in os.environ:
        environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    arguments = [options.coffer, *arguments, "--home", os.path.join(root, "disk", "home")]
    descriptors = []
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


def expect(done, code, what):
    if done.returncode != code:
        raise Failed("%s: exit %d instead of %d: %s" % (what, done.returncode, code, done.stderr.decode().strip()))
    return done


def state(options, root):
    done = expect(run(options, root, ["status"]), 0, "status")
    return done.stdout.decode().splitlines()[0]


def with_disk(options, body):
    root = tempfile.mkdtemp(prefix="coffer-disks-")
    disk = os.path.join(root, "disk")
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", disk], check=True)
    try:
        expect(run(options, root, INIT, PASSCODE), 0, "init")
        expect(run(options, root, ["token", "put", "s", "a"], PASSCODE, VALUE), 0, "token put")
        body(options, root, disk)
    finally:
        subprocess.run(["umount", disk], check=True)
        shutil.rmtree(root)


def full(options, root, disk):
    with open(os.path.join(disk, "filler"), "wb", buffering=0) as filler:
        for size in (4096, 1):
            try:
                while True:
                    filler.write(bytes(size))
            except OSError:
                pass
    if run(options, root, ["token", "put", "s", "b"], PASSCODE, bytes(65536)).returncode == 0:
        raise Failed("control: the disk is not full")
    expect(run(options, root, ["wipe", "--yes"]), 0, "wipe on a full disk")
    if state(options, root) != "state: wiped":
        raise Failed("wiped on a full disk, then %s" % state(options, root))
    expect(run(options, root, ["token", "get", "s", "a"], PASSCODE), 6, "token get")


def read_only(options, root, disk):
    unlocked = run(options, root, ["unlock"], PASSCODE)
    if unlocked.returncode != 8:  # 8: there is no kernel keyring, and no key is lent
        expect(unlocked, 0, "unlock")
    lent = state(options, root) == "state: unlocked"
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    done = expect(run(options, root, ["wipe", "--yes"]), 1, "wipe on a read-only disk")
    if b"read-only" not in done.stderr or b"could not be erased" not in done.stderr:
        raise Failed("the message does not say so: %s" % done.stderr.decode())
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    if lent and state(options, root) != "state: locked":
        raise Failed("the keys that were lent are still there")
    got = expect(run(options, root, ["token", "get", "s", "a"], PASSCODE), 0, "token get")
    if got.stdout != VALUE:
        raise Failed("the value is another")
    expect(run(options, root, ["wipe", "--yes"]), 0, "wipe when the disk can be written")
    expect(run(options, root, ["token", "get", "s", "a"], PASSCODE), 6, "token get")


def main():
    parser = argparse.ArgumentParser(description="Wipes on a full disk and on a read-only one.")
    parser.add_argument("--coffer", required=True, metavar="PATH")
    options = parser.parse_args()
    options.coffer = os.path.abspath(options.coffer)
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        print("skipped: root and a mount namespace are needed")
        return 0
    if "--inside" not in os.environ.get("COFFER_DISKS", ""):
        # In a namespace of mounts of its own, so that nothing stays mounted whatever happens.
        environment = {**os.environ, "COFFER_DISKS": "--inside"}
        done = subprocess.run(["unshare", "-m", sys.executable, *sys.argv], env=environment, check=False)
        return done.returncode
    failures = 0
    for name, body in (("full", full), ("read-only", read_only)):
        try:
            with_disk(options, body)
            print("%s: held" % name)
        except (Failed, subprocess.CalledProcessError) as problem:
            failures += 1
            print("FAILED %s: %s" % (name, problem))
    print("%d failed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
