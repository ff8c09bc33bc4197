#!/usr/bin/env python3
"""Runs files of SQLite's own test suite on a VFS of this package, and compares what fails with the list.

Usage: suite.py [--list FILE] [--codec CODEC] [--deadline SECONDS] [--jobs N] [--keep DIR]
                TESTFIXTURE TESTS VARIANT [FILE …]
  TESTFIXTURE   SQLite's test program, linked with fixture.c
  TESTS         the directory of SQLite's *.test files
  VARIANT       gcm1, sqlcipher4; pinned48, pinned80: the pages' geometry without the encryption; stock
  FILE          names of test files; all of the families unless named
  --codec CODEC the codec whose list is meant, when VARIANT is none: of what is listed as `stock`, everything
                must fail on SQLite itself; of `geometry`, with pages of that geometry that are not encrypted
  --keep DIR    writes what each file printed to DIR, and what failed to DIR/failures.json

Ends with 1 when something failed that the list does not know, when something passed that it says fails, when a
file crashed or did not end in time.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FAMILIES = [
    "attach*", "avtrans*", "autovacuum*", "backup*", "crash*", "exclusive*", "incrvacuum*", "ioerr*", "jrnlmode*",
    "journal*", "lock*", "malloc*", "pager*", "rollback*", "savepoint*", "superlock*", "trans*", "vacuum*", "wal*",
]
LEFT_OUT = {
    # A collection of other files.
    "mallocAll.test",
    # Vacuums until a database is small that never has auto_vacuum, because it is set after the first look.
    "incrvacuum2.test",
    # Wants a VFS without shared memory, which Coffer's says that it has.
    "walnoshm.test",
}


class Outcome:
    """What one file did."""

    def __init__(self, name, code, text):
        self.name = name
        self.text = text
        self.failed = {}
        self.passed = set()
        found = re.search(r"^(\d+) errors out of (\d+) tests", text, re.M)
        self.count = int(found.group(2)) if found else len(re.findall(r"^\S+\.\.\. Ok$", text, re.M))
        # Databases that were refused after a crash: refused.tcl.
        self.refused = len(re.findall(r"REFUSED after a crash: ", text))
        self.trouble = None
        if code == "deadline":
            self.trouble = "did not end in time"
        elif code < 0 or code >= 128:
            self.trouble = f"crashed ({code})"
        elif "Sanitizer" in text:
            self.trouble = "has a sanitizer's finding"
        for name, expected in re.findall(r"^! (\S.*?) expected: (\[.*)$", text, re.M):
            got = re.search(rf"^! {re.escape(name)} got: +(\[.*)$", text, re.M)
            self.failed[name] = [expected, got.group(1) if got else ""]
        for name, error in re.findall(r"^(\S.*?)\.\.\.\nError: (.*)$", text, re.M):
            self.failed[name] = ["", "Error: " + error]
        for line in re.findall(r"^!Failures on these tests:(.*)$", text, re.M):
            for name in line.split():
                if name not in self.failed:
                    self.failed[name] = ["", self.error_of(name)]
        for name in re.findall(r"^(\S.*?)\.\.\. Ok$", text, re.M):
            if name not in self.failed:
                self.passed.add(name)
        if not found and self.trouble is None:
            # The script itself ended in an error, and what follows in it did not run.
            last = re.findall(r"^\S*testfixture: (.*)$", text, re.M)
            self.failed["(ends)"] = ["", last[-1] if last else text[-200:]]

    def error_of(self, name):
        """The error of a test behind whose name a program that it started has printed something."""
        found = re.search(rf"^{re.escape(name)}\.\.\.(.*?)(?=^\S+\.\.\.|\Z)", self.text, re.M | re.S)
        errors = re.findall(r"^Error: .*$", found.group(1) if found else "", re.M)
        return errors[-1] if errors else ""


def run_file(arguments, name):
    with tempfile.TemporaryDirectory(dir=arguments.scratch, prefix="sqlite-suite-") as directory:
        environment = dict(os.environ, LC_ALL="C", TMPDIR=directory)
        environment.pop("COFFER_SUITE", None)
        if arguments.variant != "stock":
            environment["COFFER_SUITE"] = arguments.variant
        command = [arguments.testfixture, str(pathlib.Path(arguments.tests, name))]
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=arguments.deadline)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
            code = "deadline"
    return Outcome(name, code, output.decode("utf-8", "replace"))


def read_list(path, is_recording=False):
    """The list, {file: {test: (variants, reason, sometimes)}}, the reasons, and record.py's rules."""
    listed, reasons, heading, rules = {}, {}, None, []
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("reason "):
            key, text = line[7:].split(": ", 1)
            reasons[key] = text
        elif line.startswith("rule "):
            rules.append(line.split()[1:])
        elif not line.startswith(" "):
            name, variants, reason = line.split()
            if reason not in reasons and not is_recording:
                sys.exit(f"{path}:{number}: the reason {reason} is not explained")
            heading = (name, variants.split(","), reason)
        else:
            for test in line.split():
                entry = (heading[1], heading[2], test.startswith("?"))
                listed.setdefault(heading[0], []).append((test.removeprefix("?").replace("%20", " "), entry))
    return listed, reasons, rules


# What fails on other VFSs, too, by the reason in the list.
CONTROLS = {"stock": ["stock"], "pinned48": ["stock", "geometry"], "pinned80": ["stock", "geometry"]}


def judge(outcome, listed, variant, codec):
    """What of an outcome the list does not say, as lines; and the listed failures that were seen, by reason."""
    complaints, seen = [], []
    reasons = CONTROLS.get(variant)
    if outcome.trouble:
        if not reasons:
            complaints.append(f"{outcome.name}: {outcome.trouble}")
        return complaints, seen
    expected = {
        test: entry for test, entry in listed.get(outcome.name, [])
        if codec in entry[0] and (not reasons or entry[1] in reasons)}
    for test, (wanted, got) in outcome.failed.items():
        if test in expected:
            seen.append(expected[test][1])
        elif not reasons:
            complaints.append(f"{outcome.name} {test}: expected {wanted[:200]}, got {got[:200]}")
    for test, (_, reason, sometimes) in expected.items():
        if test not in outcome.failed and not sometimes:
            verb = "passes" if test in outcome.passed else "did not run"
            complaints.append(f"{outcome.name} {test}: {verb}, and is listed as {reason}")
    return complaints, seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list")
    parser.add_argument("--codec")
    parser.add_argument("--deadline", type=float, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep")
    parser.add_argument("--scratch", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    parser.add_argument("testfixture")
    parser.add_argument("tests")
    parser.add_argument("variant")
    parser.add_argument("file", nargs="*")
    arguments = parser.parse_args()
    arguments.testfixture = os.path.abspath(arguments.testfixture)
    arguments.tests = os.path.abspath(arguments.tests)
    names = sorted(
        path.name for path in pathlib.Path(arguments.tests).glob("*.test")
        if path.name not in LEFT_OUT and any(fnmatch.fnmatch(path.name, f + ".test") for f in FAMILIES))
    unknown = [name for name in arguments.file if not pathlib.Path(arguments.tests, name).exists()]
    if unknown or not names:
        sys.exit(f"There is no {' '.join(unknown) or 'test'} in {arguments.tests}.")
    names = arguments.file or names
    listed, reasons, _ = read_list(arguments.list) if arguments.list else ({}, {}, [])
    complaints, counts, tests, refused, failures = [], {}, 0, 0, {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for outcome in pool.map(lambda name: run_file(arguments, name), names):
            tests += outcome.count
            found, seen = judge(outcome, listed, arguments.variant, arguments.codec or arguments.variant)
            complaints += found
            for reason in seen:
                counts[reason] = counts.get(reason, 0) + 1
            failures[outcome.name] = {"trouble": outcome.trouble, "count": outcome.count, "failed": outcome.failed}
            state = outcome.trouble or (f"{len(outcome.failed)} failed" if outcome.failed else "all passed")
            if outcome.refused:
                state += f", {outcome.refused} databases refused after a crash"
            refused += outcome.refused
            print(f"{outcome.name:28} {outcome.count:6} tests, {state}", flush=True)
            if arguments.keep:
                os.makedirs(arguments.keep, exist_ok=True)
                pathlib.Path(arguments.keep, outcome.name + ".txt").write_text(outcome.text)
    if arguments.keep:
        pathlib.Path(arguments.keep, "failures.json").write_text(json.dumps(failures, indent=1))
    total = sum(len(entry["failed"]) for entry in failures.values())
    print(f"{arguments.variant}: {len(names)} files, {tests} tests, {total} failed, {refused} databases refused")
    for reason, count in sorted(counts.items()):
        print(f"  {count:5} {reason}: {reasons[reason]}")
    for complaint in complaints:
        print("! " + complaint)
    if arguments.list and complaints:
        sys.exit(1)


if __name__ == "__main__":
    main()
