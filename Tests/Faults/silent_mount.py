#!/usr/bin/env python3
"""Backs up to, verifies on and restores from a mount that does not answer.

    silent_mount.py --coffer PATH

In a user and mount namespace of its own, a file system in user space is mounted whose program never reads a request: every
system call for a path in it waits until the end of the process. `backup create`, `create --keep`, `verify`, `list`,
`restore` and `restore --into-new` must end by themselves with the exit code of a timeout, and leave the vault as it was.
Each takes as long as the deadline of a call, all at the same time. The exit code is 1 when anything failed. Where such a
mount cannot be made, it says so and tries nothing. Needs /dev/fuse and namespaces for users.
"""

import argparse
import concurrent.futures
import ctypes
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from crash_matrix import BACKUP_IDENTITY, BACKUP_RECIPIENT, INIT

PASSCODE, TIMED_OUT, SKIPPED = "correct horse", 9, 0
# The deadline of a call is 30 s; a machine that is busy gets more.
TIME_OUT = 120


def mount(place):
    """Mounts a file system that does not answer. Returns the descriptor that keeps it."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % device
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"silent", place.encode(), b"fuse.silent", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    return device


def run(coffer, home, arguments):
    reader, writer = os.pipe()
    os.write(writer, PASSCODE.encode() + b"\n")
    os.close(writer)
    words = [coffer, *arguments, "--home", home, "--passcode-fd", str(reader)]
    try:
        return subprocess.run(words, capture_output=True, timeout=TIME_OUT, pass_fds=[reader], stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    finally:
        os.close(reader)


def inside(coffer, root):
    place, home, identity = (os.path.join(root, name) for name in ("mount", "home", "identity"))
    os.mkdir(place)
    with open(identity, "wb") as stream:
        stream.write(BACKUP_IDENTITY)
    done = run(coffer, home, INIT)
    assert done and done.returncode == 0, done and done.stderr
    good = os.path.join(root, "good.age")
    done = run(coffer, home, ["backup", "create", good, "--to", BACKUP_RECIPIENT])
    assert done and done.returncode == 0, done and done.stderr
    try:
        keeper = mount(place)
    except OSError as problem:
        print("skipped: %s" % problem)
        return SKIPPED
    path = os.path.join(place, "vault.age")
    opening = ["--identity", identity]
    attempts = {
        "create": (home, ["backup", "create", path, "--to", BACKUP_RECIPIENT]),
        "keep": (home, ["backup", "create", path, "--to", BACKUP_RECIPIENT, "--keep", "3"]),
        "verify": (home, ["backup", "verify", path, *opening]),
        "list": (home, ["backup", "list", path]),
        "restore": (home, ["backup", "restore", path, *opening]),
        "into-new": (os.path.join(root, "new"), ["backup", "restore", "--into-new", path, *opening]),
    }
    failures = []
    with concurrent.futures.ThreadPoolExecutor(len(attempts)) as pool:
        results = {name: pool.submit(run, coffer, *attempt) for name, attempt in attempts.items()}
        for name, result in results.items():
            done = result.result()
            if done is None:
                failures.append("%s does not end" % name)
            elif done.returncode != TIMED_OUT or b"did not answer" not in done.stderr:
                failures.append("%s: exit %d: %s" % (name, done.returncode, done.stderr.decode(errors="replace")))
            else:
                print("%-8s ended: %s" % (name, done.stderr.decode().strip()))
    if os.path.exists(os.path.join(root, "new", "vault")):
        failures.append("into-new left a vault")
    done = run(coffer, home, ["backup", "verify", good, *opening])
    if not done or done.returncode:
        failures.append("a good backup is not verified any more")
    for text in failures:
        print("FAILED " + text)
    os.close(keeper)
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description="Backups on a mount that does not answer.")
    parser.add_argument("--coffer", required=True, metavar="PATH")
    parser.add_argument("--inside", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(os.path.abspath(options.coffer), options.inside)
    with tempfile.TemporaryDirectory(prefix="coffer-silent-") as root:
        line = [sys.executable, os.path.abspath(__file__), "--coffer", options.coffer, "--inside", root]
        try:
            return subprocess.run(["unshare", "--user", "--map-root-user", "--mount", *line]).returncode
        except FileNotFoundError:
            print("skipped: there is no unshare")
            return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
