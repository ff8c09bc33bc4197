#!/usr/bin/env python3
"""Writes the blocks of the list of expected failures again, from what runs of suite.py kept.

Usage: record.py LIST WORK
  WORK   the directory with the tests, and the runs' directories: gcm1-gcm1, gcm1-stock, gcm1-pinned48, sqlcipher4-…

What fails on SQLite itself, too, is `stock`; what fails with pages of the codec's geometry that are not encrypted
is `geometry`; what is in a file that SQLite's authors mark with do_not_use_codec is `raw`. For the rest the list's own
rules say the reason; what no rule knows is `unexplained`, and the list is not taken by suite.py until somebody has
explained it.
"""

import fnmatch
import json
import pathlib
import re
import sys
import textwrap

from suite import read_list

CODECS = {"gcm1": "pinned48", "sqlcipher4": "pinned80"}


def load(work, codec, variant):
    path = pathlib.Path(work, f"{codec}-{variant}", "failures.json")
    return json.loads(path.read_text()) if path.exists() else {}


def reason_of(name, test, stock, pinned, rules, is_raw):
    if test in stock.get(name, {}).get("failed", {}):
        return "stock"
    if test in pinned.get(name, {}).get("failed", {}):
        return "geometry"
    if is_raw:
        return "raw"
    for file_pattern, test_pattern, reason in rules:
        if fnmatch.fnmatchcase(name, file_pattern) and fnmatch.fnmatchcase(test, test_pattern):
            return reason
    return "unexplained"


def main():
    path, work = sys.argv[1:3]
    listed, _, rules = read_list(path, is_recording=True)
    sometimes = {
        (name, test) for name, entries in listed.items() for test, entry in entries if entry[2]}
    blocks = {}
    for codec, control in CODECS.items():
        runs = load(work, codec, codec)
        stock, pinned = load(work, codec, "stock"), load(work, codec, control)
        for name, run in runs.items():
            text = pathlib.Path(work, "tests", "test", name).read_text(errors="replace")
            is_raw = bool(re.search(r"^\s*do_not_use_codec", text, re.M))
            for test in run["failed"]:
                reason = reason_of(name, test, stock, pinned, rules, is_raw)
                blocks.setdefault((name, reason), {}).setdefault(test, set()).add(codec)
    head = []
    for line in pathlib.Path(path).read_text().splitlines():
        if line and not line.startswith(("#", "reason ", "rule ")):
            break
        head.append(line)
    output = "\n".join(head).rstrip() + "\n"
    for (name, reason), tests in sorted(blocks.items()):
        by_codecs = {}
        for test, codecs in tests.items():
            by_codecs.setdefault(",".join(sorted(codecs)), []).append(test)
        for codecs, names in sorted(by_codecs.items()):
            words = [
                ("?" if (name, test) in sometimes else "") + test.replace(" ", "%20") for test in names]
            output += f"\n{name} {codecs} {reason}\n"
            output += textwrap.fill(
                " ".join(words), 118, initial_indent="    ", subsequent_indent="    ", break_long_words=False,
                break_on_hyphens=False) + "\n"
    pathlib.Path(path).write_text(output)


if __name__ == "__main__":
    main()
