#!/usr/bin/env python3
"""Kills `coffer` at every call that changes the vault or its anchor, and requires that the vault opens afterwards.

    anchor_kills.py --coffer PATH [--commands a,b,…] [--actions kill,killafter,torn,EIO,ENOSPC] [--shim faultshim.so]

The home has an anchor in a file and, where the kernel has a keyring, one there. Each command runs once for every
crash point and action, always in the same place, because the record names the anchor's path. Afterwards:

    the passcode opens the vault, old or new: no kill makes it an older copy or loses an anchor
    an older copy, made before the command, opens only if the anchor has not heard of the command
    coffer anchor reset and coffer anchor remove always lead out

Prints one line for each command and `N runs, N failed`; the exit code is 1 when anything failed.
"""

import argparse
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import crash_matrix as matrix

PASSCODES = {"old": b"correct horse", "new": b"battery staple"}


class Place(matrix.Place):
    """A home, and beside it a folder for the anchor."""

    def __init__(self, root):
        super().__init__(root)
        self.anchor = os.path.join(root, "elsewhere", "anchor")


def commands(place):
    """Every command by name: its arguments, whether it sets a new passcode, what it reads, and what it needs before."""
    return {
        "set": (["anchor", "set", place.anchor + "2"], False, b"", []),
        "set-first": (["anchor", "set", place.anchor], False, b"", [["anchor", "remove", "file"]]),
        "reset": (["anchor", "reset"], False, b"", []),
        "remove": (["anchor", "remove", "file"], False, b"", []),
        "print": (["anchor", "print"], False, b"", []),
        "unlock": (["token", "list"], False, b"", []),
        "passcode": (["passcode", "change"], True, b"", []),
        "token-put": (["token", "put", "service.example", "ada"], False, b"value", []),
        "recovery": (["recovery", "create", "--unchecked"], False, b"", []),
        "rotate": (["rotate"], False, b"", []),
    }


NAMES = list(commands(Place("")))


class Kills:
    def __init__(self, options, root):
        self.options = options
        self.root = root
        shim = os.path.abspath(options.shim) if options.shim else matrix.build_shim(root)
        self.command = matrix.Command(options.coffer, shim)
        self.place = Place(os.path.join(root, "place"))
        self.runs, self.failures = 0, []

    def run(self, arguments, passcode="old", **options):
        return self.command(self.place, arguments, passcode=PASSCODES[passcode], **options)

    def opens(self, passcode):
        return self.run(["token", "list"], passcode)

    def template(self, before):
        self.place.make()
        os.makedirs(os.path.dirname(self.place.anchor))
        self.command.succeed(self.place, matrix.INIT, passcode=PASSCODES["old"])
        self.command.succeed(self.place, ["anchor", "set", self.place.anchor], passcode=PASSCODES["old"])
        if self.run(["anchor", "set", "--kernel-keyring"]).code:
            print("without the kernel keyring")
        for arguments in before:
            self.command.succeed(self.place, arguments, passcode=PASSCODES["old"])

    def fresh(self, saved):
        shutil.rmtree(self.place.root)
        shutil.copytree(saved, self.place.root, symlinks=True)
        # The keyring's number comes from the run before.
        done = self.run(["anchor", "reset"])
        if done.code:
            raise SystemExit("reset failed: %s" % done)

    def all(self):
        for name, (arguments, is_new, given, before) in commands(self.place).items():
            if name not in self.options.commands:
                continue
            self.template(before)
            saved = os.path.join(self.root, "saved")
            shutil.copytree(self.place.root, saved, symlinks=True)
            new = PASSCODES["new"] if is_new else None
            self.fresh(saved)
            done = self.run(arguments, new=new, given=given, log=True, below=self.place.root)
            if done.code:
                self.failures.append("%s: %s" % (name, done))
            calls = matrix.logged_calls(self.place)
            for point, call in enumerate(calls, 1):
                for action in self.options.actions:
                    if matrix.applies(action, call):
                        self.one(name, arguments, new, given, saved, matrix.Fault(point, call, action))
            print("%-10s %3d points, %d failures so far" % (name, len(calls), len(self.failures)), flush=True)
            shutil.rmtree(saved)
            shutil.rmtree(self.place.root)
        print("%d runs, %d failed" % (self.runs, len(self.failures)))
        for text in self.failures[:20]:
            print("FAILED " + text)
        return 1 if self.failures or not self.runs else 0

    def one(self, name, arguments, new, given, saved, fault):
        self.runs += 1
        self.fresh(saved)
        older = os.path.join(self.root, "older")
        shutil.copytree(self.place.home, older, symlinks=True)
        done = self.run(arguments, new=new, given=given, fault=fault, below=self.place.root)
        opened = [self.opens("old")]
        if opened[0].code == matrix.WRONG_PASSCODE:
            opened.append(self.opens("new"))
        if opened[-1].code != matrix.OK:
            self.failures.append("%s, %s: %s; then %s" % (name, fault, done, opened[-1]))
        # An unlock has told the anchors by now, if there are any: the older copy does not open.
        passcode = "old" if opened[-1] is opened[0] else "new"
        has_anchor = self.run(["anchor", "check", "--json"], passcode).code != matrix.ABSENT
        shutil.rmtree(self.place.home)
        shutil.move(older, self.place.home)
        again = self.opens("old")
        is_told = again.document().get("error", {}).get("code") in ("rolledBack", "anchorLost")
        if has_anchor and not is_told:
            self.failures.append("%s, %s: an older copy: %s" % (name, fault, again))
        for way in (["anchor", "reset"], ["anchor", "remove", "file"]):
            out = self.run(way)
            if out.code not in (matrix.OK, matrix.ABSENT):
                error = out.document().get("error", {}).get("code")
                if way[1] == "remove" or error != "anchorLost":
                    self.failures.append("%s, %s: no way out by %s: %s" % (name, fault, way, out))
        if self.opens("old").code != matrix.OK:
            self.failures.append("%s, %s: the way out does not lead out" % (name, fault))


def main():
    parser = argparse.ArgumentParser(description="Kills coffer around its anchors.")
    parser.add_argument("--coffer", required=True, metavar="PATH")
    parser.add_argument("--actions", type=matrix.names(matrix.ACTIONS),
                        default=["kill", "killafter", "torn", "EIO", "ENOSPC"])
    parser.add_argument("--commands", type=matrix.names(NAMES), default=NAMES, metavar="a,b,…")
    parser.add_argument("--shim", metavar="FILE")
    options = parser.parse_args()
    options.coffer = os.path.abspath(options.coffer)
    root = os.path.realpath(tempfile.mkdtemp(prefix="coffer-anchor-", dir=matrix.fast_folder()))
    try:
        return Kills(options, root).all()
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
