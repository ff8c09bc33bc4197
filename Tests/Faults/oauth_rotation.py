#!/usr/bin/env python3
"""Lets many processes share one session of a real OAuth server whose refresh tokens rotate.

    oauth_rotation.py --coffer PATH --servers DIR [--minutes 5] [--processes 32] [--every 10] [--poll 4]
                      [--rounds 10] [--width 4] [--at-once N] [--hold 5] [--plain]
                      [--only glewlwyd|django] [--json FILE]

DIR is what `Scripts/oauth-servers prepare` has filled. For each server, `coffer oauth login` signs in once,
and then:

    rotation   every process runs `coffer oauth token` again and again, about every --poll seconds. An access
               token lives 30 s longer than --every, and 30 s is what the command asks for: a renewal comes
               due every --every seconds. Each new access token must open the server's resource
    races      --rounds times, --width processes run `coffer oauth refresh` at the same moment
    at once    with --at-once N, in a session of its own: as soon as a renewal is due, N processes run
               `coffer oauth token`. The answer is held back for --hold seconds, so that many wait for it

By the server's own log, and by that of a proxy in front of it, which tells tokens apart by their hashes: no
refresh token is sent twice, no request is refused (`invalid_grant`, or the empty answer of Glewlwyd), in the
rotation no renewal comes before it is due, in "at once" there is one request; the vault has stored exactly as
many refresh tokens as the server gave; every process ends with 0; at the end the session still works.

--plain does the same with a plain client beside it, which keeps its tokens in a file that it replaces as a
whole: see oauth_plain.py. How many of its sessions die is printed, and is no failure.

The exit code is 1 when anything failed. With a debug build, 32 processes take most of one core.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

import oauth_plain
from oauth_session import LEAST_LIFE, LONGEST, Coffer, Failure, Server, check_judgement, hashed


class Rotation:
    """Processes that use one session until the time is over."""

    def __init__(self, coffer, options):
        self.coffer, self.options, self.lock = coffer, options, threading.Lock()
        self.uses, self.late, self.slowest, self.failures, self.seen = 0, 0, 0.0, [], set()
        self.end = time.monotonic() + options.minutes * 60

    def run(self):
        threads = [threading.Thread(target=self.process, daemon=True) for _ in range(self.options.processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def process(self):
        try:
            time.sleep(random.uniform(0, self.options.poll))
            while time.monotonic() < self.end:
                self.use()
                time.sleep(random.uniform(0.5, 1.5) * self.options.poll)
        except Exception as error:  # Else the thread would end unnoticed.
            self.failures.append(f"{type(error).__name__}: {error}")

    def use(self):
        begun = time.monotonic()
        code, token, errors, *_ = self.coffer.run("oauth", "token", "work")
        took = time.monotonic() - begun
        with self.lock:
            self.uses, self.slowest = self.uses + 1, max(self.slowest, took)
            is_new = code == 0 and hashed(token) not in self.seen
            if is_new:
                self.seen.add(hashed(token))
        if code != 0:
            self.failures.append(f"{code}: {errors.strip()}")
        elif is_new and not self.coffer.server.opens(token):
            # The token lives for so long from some moment of the command on: later, nothing can be told.
            if time.monotonic() - begun < LEAST_LIFE:
                self.failures.append("an access token does not open the resource")
            else:
                self.late += 1


def failed(ended):
    found = [each for each in ended if each.code != 0]
    return [f"a process ended with {each.code}: {each.errors.strip()}" for each in found[:3]]


def rotate(coffer, options, report):
    rotation = Rotation(coffer, options)
    rotation.run()
    problems = [f"{len(rotation.failures)} uses failed: {rotation.failures[0]}"] if rotation.failures else []
    renewals = coffer.judge(problems, options.every / 2)
    # Who renews a token is given it; the first one came with the sign-in.
    if len(rotation.seen) - len(renewals) not in (0, 1):
        problems.append(f"{len(rotation.seen)} access tokens of {len(renewals)} renewals")
    if len(renewals) < max(1, options.minutes * 60 / (options.every + 2 * options.poll + 5) - 1):
        problems.append("too few renewals to say anything")
    report.add("rotation", {
        "processes": options.processes, "minutes": options.minutes, "uses": rotation.uses,
        "access tokens": len(rotation.seen), "requests": len(renewals),
        "refused": sum(each["status"] != 200 for each in renewals),
        "too late to tell": rotation.late, "slowest use": f"{rotation.slowest:.2f} s"}, problems)


def race(coffer, options, report):
    problems, codes, dead = [], [], 0
    coffer.mark()
    for _ in range(options.rounds):
        ended = coffer.at_once(options.width, "oauth", "refresh", "work")
        codes += [each.code for each in ended]
        problems += failed(ended)
        dead += coffer.run("oauth", "status", "work").code != 0
    renewals = coffer.judge(problems)
    if dead:
        problems.append(f"{dead} sessions dead")
    report.add("races", {"rounds": options.rounds, "width": options.width,
                         "done": f"{codes.count(0)} of {len(codes)}", "requests": len(renewals),
                         "refused": sum(each["status"] != 200 for each in renewals),
                         "sessions dead": f"{dead} of {options.rounds}"}, problems)


def gather(options, kind, folder, report):
    """Many processes at the moment when a renewal is due."""
    count = options.at_once
    # The new token must not be due again before the last process has started.
    due = max(15, count // 2)
    with Server(options.servers, kind, LEAST_LIFE + due) as server:
        coffer = Coffer(options.coffer, server, folder)
        time.sleep(due + 0.5)
        server.command({"do": "fault", "kind": "delay", "path": server.token_path,
                        "milliseconds": int(options.hold * 1000)})
        coffer.mark()
        begun, answered, waiting = time.time(), None, set()

        def watch():
            nonlocal answered, waiting
            while not answered and time.time() < begun + LONGEST:
                time.sleep(0.1)
                # The proxy writes the entry when the answer is there, and then holds it back.
                renewals, _ = server.since(coffer.begin)
                answered = renewals[0]["at"] + options.hold if renewals else None
            time.sleep(max(0, (answered or 0) - time.time() - 0.3))
            waiting = coffer.waiting()
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        ended = coffer.at_once(count, "oauth", "token", "work")
        watcher.join()
        problems = failed(ended)
        if len({each.output for each in ended}) != 1:
            problems.append("the processes were given different tokens")
        requests = len(coffer.judge(problems))
        if requests != 1:
            problems.append(f"{requests} requests instead of one")
        after = {each.process: each.at - (answered or begun) for each in ended}
        waited = [time for process, time in after.items() if process in waiting]
        report.add("at once", {
            "processes": count, "served": f"{sum(each.code == 0 for each in ended)} of {count}",
            "requests": requests, "answered after": f"{(answered or begun) - begun:.2f} s",
            "waiting then": len(waited),
            "last of these served after the answer": f"{max(waited, default=0):.2f} s",
            "last of all": f"{max(after.values()):.2f} s"}, problems)


class Report:
    """What was found, printed as it comes."""

    def __init__(self):
        self.server, self.lines, self.failed = None, [], 0

    def add(self, what, figures, problems, is_ours=True):
        self.failed += bool(problems and is_ours)
        client = "coffer" if is_ours else "plain"
        self.lines.append(
            {"server": self.server, "client": client, "phase": what, **figures, "problems": problems})
        shown = ", ".join(f"{name} {value}" for name, value in figures.items())
        print(f"{self.server}, {client}, {what}: {shown}", flush=True)
        for problem in problems:
            print(f"    {'FAILED: ' if is_ours else ''}{problem}", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--coffer", required=True, type=os.path.abspath)
    parser.add_argument("--servers", required=True, type=pathlib.Path)
    for name, value in (("minutes", 5), ("every", 10), ("poll", 4), ("hold", 5)):
        parser.add_argument(f"--{name}", type=float, default=value)
    for name, value in (("processes", 32), ("rounds", 10), ("width", 4), ("at-once", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--only", choices=["glewlwyd", "django"])
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def run(options, kind, folder, report):
    report.server = kind
    with Server(options.servers, kind, int(LEAST_LIFE + options.every)) as server:
        coffer = Coffer(options.coffer, server, folder)
        if options.minutes:
            rotate(coffer, options, report)
        if options.rounds:
            race(coffer, options, report)
        if options.plain:
            plain = oauth_plain.Plain(server, folder, LEAST_LIFE)
            for phase, figures in plain.phases(options):
                report.add(phase, figures, [], is_ours=False)
            if not plain.dead:
                report.add("all", {}, ["No session died: there was nothing to lose."], is_ours=False)
    if options.at_once:
        gather(options, kind, folder, report)


def main():
    options = arguments()
    check_judgement()
    # Also then the blocks below are left, and take away what they made.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    folder, report = tempfile.mkdtemp(prefix="coffer-rotation-"), Report()
    try:
        for kind in [options.only] if options.only else ["glewlwyd", "django"]:
            run(options, kind, folder, report)
    except (Failure, OSError) as failure:
        print(f"failed: {failure}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        options.json.write_text(json.dumps(report.lines, indent=2) + "\n", encoding="utf-8")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
