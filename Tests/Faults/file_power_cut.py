#!/usr/bin/env python3
"""Cuts the power of a file system at every crash point of the operations that change files.

    file_power_cut.py --coffer PATH [--operations a,b,…] [--points 3,7-9]

Needs root, loop devices and ext4; says so and ends with 0 where one is missing. The home lies on an ext4 file system in
a file. The command is killed at a crash point, as crash_matrix.py does it, or runs to its end; then the shutdown
ioctl stops the file system where it is, once without and once with what its log holds; it is mounted again, and the
home must be exactly as before or exactly as after. What was reported done must be there.

After each kill, the operation runs once more: a header slot that the kill left different from the other may not be on the
disk, so the container must be flushed before a slot is written, or a power cut could take both.

One line for each operation, `operation points runs mixed lost residue other`; the last line is `N passed, N failed`.
"""

import argparse
import contextlib
import fcntl
import itertools
import os
import struct
import subprocess
import sys
import tempfile

import crash_matrix as matrix

SHUTDOWN = 0x8004587D
FLAGS = {"log dropped": 2, "log flushed": 1}
OPERATIONS = (
    "token-put", "file-add", "file-remove", "file-rewrap", "file-rewrap-all", "file-rename", "file-reindex",
    "file-edit", "reclass")
# Those that write header slots of containers in place.
CHANGES_HEADERS = {"file-rewrap", "file-rewrap-all", "file-rename", "reclass"}


class Disk:
    """An ext4 file system in a file, mounted as long as it is used."""

    def __init__(self, root, number):
        self.image, self.where = "%s/disk-%d.img" % (root, number), "%s/disk-%d" % (root, number)
        os.mkdir(self.where)
        subprocess.run(["truncate", "-s", "64M", self.image], check=True)
        subprocess.run(["mkfs.ext4", "-qF", self.image], check=True)
        self.mount()

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.where], check=True)

    def unmount(self):
        subprocess.run(["umount", self.where], check=True)

    def cut(self, flag):
        descriptor = os.open(self.where, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", flag))
        finally:
            os.close(descriptor)
        self.unmount()
        self.mount()

    def close(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            subprocess.run(["umount", "-l", self.where], check=True, stderr=subprocess.DEVNULL)
        os.unlink(self.image)
        os.rmdir(self.where)


@contextlib.contextmanager
def disk(root, number):
    made = Disk(root, number)
    try:
        yield made
    finally:
        made.close()


def missing(root):
    """Why it cannot be done here; None when it can."""
    if os.geteuid() != 0:
        return "only root can mount"
    try:
        with disk(root, 0) as tried:
            tried.cut(2)
    except (OSError, subprocess.CalledProcessError) as error:
        return "no ext4 on a loop device that can be shut down: %s" % error
    return None


def cut_once(operation, root, number, fault, flag):
    with disk(root, number) as made:
        place = matrix.Place(os.path.join(made.where, "place"))
        subprocess.run(["cp", "-a", operation.original.root, place.root], check=True)
        os.sync()
        place.log = os.path.join(root, "disk-%d.log" % number)
        try:
            done = operation.perform(place, fault=fault)
            if fault and done.code != -9:
                raise matrix.Problem("other", "not killed: %s" % done)
            if not fault and done.code != operation.expected:
                raise matrix.Problem("other", "without a fault: %s" % done)
            made.cut(flag)
            operation.judge_home(place, done)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place.log)


SLOT = 2048


def unsettled(place):
    """The containers whose header slots are two different ones."""
    found = set()
    for _, path in place.entries():
        if path.endswith(".coffer"):
            header = matrix.read_file(path)[:2 * SLOT]
            front, back = header[:SLOT], header[SLOT:]
            if front != back and any(front) and any(back):
                found.add(path)
    return found


def change_again(operation, bench, fault):
    """Runs the operation once more after a kill; returns how many containers had slots that differed."""
    with bench.copy(operation.original) as place:
        operation.perform(place, fault=fault)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place.log)
        waiting = unsettled(place)
        number = len(waiting)
        operation.perform(place, log=True)
        with contextlib.suppress(FileNotFoundError), open(place.log) as stream:
            for line in stream:
                _, call, path = line.rstrip("\n").split(" ", 2)
                if call in matrix.SYNCS:
                    waiting.discard(path)
                elif path in waiting and "write" in call:
                    raise matrix.Problem("lost", "a slot was written before the other was flushed")
        return number


def run(operation, bench, root, points):
    calls = operation.start(bench).learn()
    row = dict.fromkeys(("runs", "mixed", "lost", "residue", "other"), 0)
    failures = []
    faults = [matrix.Fault(point, call, "kill") for point, call in enumerate(calls, 1)] + [None]
    numbers = itertools.count(1)
    for fault in faults:
        if points and (not fault or fault.point not in points):
            continue
        for name, flag in FLAGS.items():
            row["runs"] += 1
            try:
                cut_once(operation, root, next(numbers), fault, flag)
            except matrix.Problem as problem:
                row[problem.kind] += 1
                failures.append("%s, %s, %s: %s: %s" % (operation.name, fault or "done", name, problem.kind, problem))
    if operation.name in CHANGES_HEADERS:
        seen = 0
        for fault in faults[:-1]:
            row["runs"] += 1
            try:
                seen += change_again(operation, bench, fault)
            except matrix.Problem as problem:
                row[problem.kind] += 1
                failures.append("%s, %s, again: %s: %s" % (operation.name, fault, problem.kind, problem))
        if not (seen or failures or points):
            failures.append("%s: no kill left slots that differ" % operation.name)
    print("%-16s %6d %s" % (operation.name, len(calls), " ".join("%*d" % (len(key), row[key]) for key in row)),
          flush=True)
    return row["runs"], failures


def main():
    parser = argparse.ArgumentParser(description="Cuts the power at every crash point.")
    parser.add_argument("--coffer", required=True, metavar="PATH")
    parser.add_argument("--operations", type=matrix.names(OPERATIONS), default=list(OPERATIONS), metavar="a,b,…")
    parser.add_argument("--points", type=matrix.numbers, default=set(), metavar="3,7-9")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="coffer-power-") as root:
        reason = missing(root)
        if reason:
            print("skipped: " + reason)
            return 0
        command = matrix.Command(os.path.abspath(options.coffer), matrix.build_shim(root))
        with tempfile.TemporaryDirectory(prefix="coffer-power-", dir=matrix.fast_folder()) as fast:
            bench = matrix.Bench(command, fast, "1", False, False)
            print("operation        points runs mixed lost residue other", flush=True)
            runs, failures = 0, []
            for operation in matrix.all_operations():
                if operation.name in options.operations:
                    number, failed = run(operation, bench, root, options.points)
                    runs, failures = runs + number, failures + failed
    for failure in failures[:10]:
        print("\nFAILED " + failure)
    print("%d passed, %d failed" % (runs - len(failures), len(failures)))
    return 1 if failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
