#!/usr/bin/env python3
"""Lets many processes refresh one token at the same time, and kills one of them in the middle now and then.

    refresh_rounds.py --coffer PATH [--rounds 200] [--processes 6] [--within SECONDS]

Every process runs `coffer token refresh` with a command that adds one to the token and a line to a file. After each
round the token must have grown by exactly as many lines as came, every process must have ended with 0, and all must
have printed a version that was stored. In every second round the process that has the lease is killed while its
command runs: the command must end, one of the others must go on within the given time (2 s), and the old token must
still be there.

The last line is `N rounds, N runs, N waited, slowest take-over N ms`; the exit code is 1 when anything failed.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

STEP = 'number=$(cat) && echo run >>"$1" && printf %s $((number + 1))'
VICTIM = 'cat >"$1.seen" && echo $$ >"$1.tmp" && mv "$1.tmp" "$1.started" && exec sleep 600'
LONGEST = 60


class Failure(Exception):
    pass


def alive(process):
    """Whether a process runs; one that has ended may wait long for somebody to take note of it."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Rounds:
    def __init__(self, coffer, folder, processes, within):
        self.coffer, self.folder, self.processes, self.within = coffer, folder, processes, within
        self.home, self.runs = str(folder / "home"), folder / "runs"
        self.runs.touch()
        self.slowest = self.waited = 0
        self.check("init", "--no-passcode", "--keyring", "file")
        self.check("token", "put", "s", "a", given=b"0")

    def check(self, *arguments, given=b""):
        result = subprocess.run([self.coffer, *arguments, "--home", self.home], input=given, capture_output=True,
                                timeout=LONGEST)
        if result.returncode != 0:
            raise Failure(f"{arguments[0]} ended with {result.returncode}: {result.stderr.decode()}")
        return result.stdout

    def start(self, script, argument):
        command = [self.coffer, "token", "refresh", "s", "a", "--home", self.home, "--", "sh", "-c", script, "sh",
                   str(argument)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def lines(self):
        return len(self.runs.read_text().splitlines())

    def value(self):
        return int(self.check("token", "get", "s", "a"))

    def run(self, kills):
        before, lines = self.value(), self.lines()
        victim = self.start_victim(before) if kills else None
        others = [self.start(STEP, self.runs) for _ in range(self.processes - bool(victim))]
        if victim:
            self.kill(victim, others, before, lines)
        versions = set()
        for process in others:
            output, errors = process.communicate(timeout=LONGEST)
            if process.returncode != 0:
                raise Failure(f"a refresh ended with {process.returncode}: {errors.decode()}")
            versions.add(int(output))
        after, grown = self.value(), self.lines() - lines
        if after - before != grown or grown < 1:
            raise Failure(f"the token went from {before} to {after} in {grown} runs")
        # The first put is version 1, and each run adds one: every version that was printed was stored.
        if not versions <= set(range(before + 2, after + 2)):
            raise Failure(f"versions {sorted(versions)} for values above {before} up to {after}")
        self.waited += len(others) - grown

    def start_victim(self, before):
        mark = self.folder / "victim"
        process = self.start(VICTIM, mark)
        started = pathlib.Path(f"{mark}.started")
        self.wait_for(started.exists, "the victim's command does not start", process)
        if int(pathlib.Path(f"{mark}.seen").read_text()) != before:
            raise Failure("the victim's command saw another token")
        return process, int(started.read_text()), started

    def kill(self, victim, others, before, lines):
        process, command, started = victim
        time.sleep(0.05)
        if self.lines() != lines or any(other.poll() is not None for other in others):
            raise Failure("somebody went on beside the one that has the lease")
        process.send_signal(signal.SIGKILL)
        begin = time.monotonic()
        process.wait(timeout=LONGEST)
        self.wait_for(lambda: not alive(command), "the command outlives the process that ran it")
        if self.value() < before:
            raise Failure("the old token is gone")
        self.wait_for(lambda: self.lines() > lines, "nobody goes on")
        took = time.monotonic() - begin
        self.slowest = max(self.slowest, took)
        if took > self.within:
            raise Failure(f"the others went on after {took:.1f} s only")
        process.communicate()
        started.unlink()

    def wait_for(self, condition, what, process=None):
        end = time.monotonic() + LONGEST
        while not condition():
            if time.monotonic() > end or (process and process.poll() is not None):
                raise Failure(what)
            time.sleep(0.005)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--coffer", required=True)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--within", type=float, default=2)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="coffer-refresh-"))
    try:
        rounds = Rounds(os.path.abspath(options.coffer), folder, options.processes, options.within)
        for number in range(options.rounds):
            rounds.run(kills=number % 2 == 1)
        if rounds.value() != rounds.lines():
            raise Failure(f"{rounds.lines()} runs made {rounds.value()}")
        print(f"{options.rounds} rounds, {rounds.lines()} runs, {rounds.waited} waited, "
              f"slowest take-over {rounds.slowest * 1000:.0f} ms")
    except Failure as failure:
        print(f"failed: {failure}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


sys.exit(main())
