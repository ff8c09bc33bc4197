"""A real OAuth server with a proxy in front, a vault with one session, and a judgement of what was sent."""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import threading
import time
import typing
import urllib.parse

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "OAuthServers"
sys.path.insert(0, str(FOLDER))
from bed import Bed, Client, Failure  # noqa: E402

SERVERS = FOLDER / "servers.py"
# The life that `coffer oauth token` asks for: TokenStore.liveAccess and Grant.accessToken.
LEAST_LIFE = 30
LONGEST = 120


def hashed(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Ended(typing.NamedTuple):
    """How a command ended; the code is None if it had to be killed."""

    code: typing.Optional[int]
    output: str
    errors: str
    process: int
    at: float


class Server:
    """A running server of Tests/OAuthServers, with the proxy in front of it."""

    def __init__(self, folder, kind, life):
        self.kind, self.bed, self.lock = kind, Bed(folder), threading.Lock()
        self.process = subprocess.Popen(
            [sys.executable, str(SERVERS), "start", str(folder), kind, "--life", str(life), "--refresh-life",
             "86400", "--faults"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.facts = self.line()
        self.token_path = urllib.parse.urlsplit(self.facts["endpoints"]["token_endpoint"]).path
        run = pathlib.Path(self.facts["log"]["path"]).parent
        self.own_log = run / {"glewlwyd": "glewlwyd.log", "django": "requests"}[kind]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            # It takes its files away.
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def line(self):
        data, end = b"", time.monotonic() + LONGEST
        while not data.endswith(b"\n"):
            ready = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]
            more = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not more:
                raise Failure(f"{self.kind} is silent: Scripts/oauth-servers check {self.kind}")
            data += more
        return json.loads(data)

    def command(self, words):
        with self.lock:
            self.process.stdin.write((json.dumps(words) + "\n").encode())
            self.process.stdin.flush()
            answer = self.line()
        if "error" in answer:
            raise Failure(f"{self.kind}: {answer['error']}")
        return answer

    def description(self):
        return self.facts

    def opens(self, token):
        """Whether an access token opens the resource."""
        client = Client(self.bed, self.facts["issuer"])
        return client.get(self.facts["resource"], Authorization=f"Bearer {token}").status == 200

    def mark(self):
        """A place in the logs, for `since`."""
        return len(self.requests()), self.own_log.stat().st_size

    def requests(self):
        entries = self.command({"do": "log"})["requests"]
        return [entry for entry in entries if entry["path"] == self.token_path]

    def since(self, mark):
        """The renewals since a place in the logs, and what the server itself has written about them."""
        renewals = [entry for entry in self.requests()[mark[0]:] if entry["grant"] == "refresh_token"]
        with open(self.own_log, encoding="utf-8", errors="replace") as file:
            file.seek(mark[1])
            return renewals, Own(self.kind, file.read().splitlines())


class Own:
    """What the server's own log says: how many renewals it granted, and what it complained about."""

    def __init__(self, kind, lines):
        if kind == "django":
            entries = [json.loads(line) for line in lines]
            renewals = [entry for entry in entries if entry["grant"] == "refresh_token"]
            refused = [entry for entry in renewals if entry["status"] != 200]
            self.granted = len(renewals) - len(refused)
            self.complaints = [f"{entry['status']} {entry['error']}" for entry in refused]
        else:
            # The sign-in is before the mark: each of these is a renewal.
            self.granted = sum("Refresh token generated for client" in line for line in lines)
            self.complaints = [line for line in lines if re.search(r"Security -|WARNING:|ERROR:", line)]


def judged(renewals, own, least_gap=0.0):
    """What is wrong with the renewals of a session: nothing, one hopes."""
    found = []
    refused = [entry for entry in renewals if entry["status"] != 200 or entry["error"]]
    if refused:
        first = f"{refused[0]['status']} {refused[0]['error']}"
        found.append(f"{len(refused)} of {len(renewals)} refused: {first}")
    sent = [entry["refreshToken"] for entry in renewals]
    if len(set(sent)) != len(sent):
        found.append(f"{len(sent) - len(set(sent))} refresh tokens sent again")
    # A client counts from its request on: where the machine is busy, the answer can come much later.
    times = sorted(entry["came"] for entry in renewals)
    gaps = [after - before for before, after in zip(times, times[1:])]
    if gaps and min(gaps) < least_gap:
        found.append(f"two renewals {min(gaps):.2f} s apart, which are due every {2 * least_gap:.0f} s")
    if own.granted != len(renewals) - len(refused):
        found.append(f"{len(renewals) - len(refused)} renewals, and {own.granted} by the server's own log")
    if own.complaints:
        found.append(f"the server's own log has {len(own.complaints)} complaints: {own.complaints[0]}")
    return found


def check_judgement():
    """The judgement must find what is planted."""
    def entry(came, token, status=200, error=None, at=None):
        return {"at": at or came, "came": came, "grant": "refresh_token", "refreshToken": token,
                "status": status, "error": error}

    def lines(*entries):
        return Own("django", [json.dumps(each) for each in entries])
    good = [entry(0, "a"), entry(10, "b")]
    refused = entry(20, "c", 400, "invalid_grant")
    warning = "2026-01-01T00:00:00 - Glewlwyd WARNING: Security - Token invalid at IP Address 127.0.0.1"
    planted = [(good + [entry(20, "b")], lines(*good, entry(20, "b"))),
               (good + [refused], lines(*good, refused)),
               (good + [entry(12, "c")], lines(*good, entry(12, "c"))), (good, lines(good[0])),
               (good, Own("glewlwyd", ["Refresh token generated for client 'native'"] * 2 + [warning]))]
    slow = [entry(0, "a", at=8), entry(10, "b")]
    sound = [(good, lines(*good)), (slow, lines(*slow))]
    if any(judged(*each, 5) for each in sound) or not all(judged(*each, 5) for each in planted):
        raise Failure("The judgement is blind.")


class Coffer:
    """A vault with one session."""

    def __init__(self, program, server, folder):
        self.program, self.server = program, server
        self.home = tempfile.mkdtemp(prefix="home-", dir=folder)
        self.environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}
        facts = server.facts
        self.check("init", "--no-passcode", "--keyring", "file")
        port = urllib.parse.urlsplit(facts["redirects"][0]).port
        scopes = [word for scope in facts["scope"].split() for word in ("--scope", scope)]
        self.check("oauth", "profile", "add", "work", "--issuer", facts["issuer"], "--client-id", "native",
                   "--host", urllib.parse.urlsplit(facts["resource"]).netloc, "--ca-file", facts["ca"],
                   "--redirect-port", str(port), "--redirect-path", "/callback", "--key-proof", "never",
                   *scopes)
        self.sign_in()
        self.mark()

    def start(self, *words, **more):
        return subprocess.Popen([self.program, *words, "--home", self.home + "/vault"], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def run(self, *words):
        process = self.start(*words, stdin=subprocess.DEVNULL)
        try:
            output, errors = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Ended(None, "", "It did not end.", process.pid, time.time())
        return Ended(process.returncode, output, errors, process.pid, time.time())

    def check(self, *words):
        ended = self.run(*words)
        if ended.code != 0:
            raise Failure(f"{' '.join(words[:2])} ended with {ended.code}: {ended.errors}")
        return ended.output

    def sign_in(self):
        process = self.start(
            "oauth", "login", "work", "--account", "ada", "--no-browser", stdin=subprocess.PIPE)
        watchdog = threading.Timer(LONGEST, process.kill)
        watchdog.start()
        try:
            page = None
            for line in process.stderr:
                page = re.search(r"https://\S+", line)
                if page:
                    break
            if page:
                process.stdin.write(self.server.command({"do": "sign-in", "url": page[0]})["location"] + "\n")
            _, errors = process.communicate()
        finally:
            watchdog.cancel()
        if process.returncode != 0:
            raise Failure(f"The sign-in ended with {process.returncode}: {errors}")

    def mark(self):
        """From here on `judge` counts."""
        self.begin, self.before = self.server.mark(), self.stored()

    def stored(self):
        """The number of refresh tokens that were stored so far; None if the session or the vault has gone."""
        ended = self.run("token", "list", "--json")
        rows = json.loads(ended.output)["tokens"] if ended.code == 0 else []
        rows = [row for row in rows if row["service"] == "oauth:work" and row["kind"] == "refresh"]
        return rows[0]["version"] if rows else None

    def at_once(self, count, *words):
        """Runs a command in many processes at the same moment; gives how each ended."""
        gate, ended = threading.Barrier(count), []

        def one():
            gate.wait(LONGEST)
            ended.append(self.run(*words))
        threads = [threading.Thread(target=one, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return ended

    def waiting(self):
        """The processes that have the session's lease or wait for it: they have opened its file."""
        found = set()
        for number in filter(str.isdigit, os.listdir("/proc")):
            # A process can end meanwhile.
            with contextlib.suppress(OSError):
                for link in os.scandir(f"/proc/{number}/fd"):
                    with contextlib.suppress(OSError):
                        path = os.readlink(link.path)
                        if path.startswith(f"{self.home}/vault/") and "/leases/" in path:
                            found.add(int(number))
        return found

    def judge(self, problems, least_gap=0.0):
        """Judges what has been sent and stored since `begin`, and uses the session once more."""
        renewals, own = self.server.since(self.begin)
        problems += judged(renewals, own, least_gap)
        stored = self.stored()
        if None in (stored, self.before):
            problems.append("the session has gone")
        elif stored - self.before != len(renewals):
            problems.append(f"{len(renewals)} requests, and {stored - self.before} refresh tokens stored")
        ended = self.run("oauth", "refresh", "work")
        token = self.check("oauth", "token", "work") if ended.code == 0 else None
        if not token or not self.server.opens(token):
            problems.append(f"the session does not work any more: {ended.code} {ended.errors.strip()}")
        return renewals
