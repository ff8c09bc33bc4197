"""A plain client of an OAuth server, as careful as one can be without a lock, for oauth_rotation.py.

Each process reads a file with the tokens, and renews them when they are due. The file is replaced as a whole,
so it is never torn. A process whose renewal is refused reads the file again a second later, and goes on if
another one has renewed the tokens in the meantime. Otherwise it says so, and the session counts as dead if
the server refuses the file's refresh token once more; then a new session begins.
"""

import json
import multiprocessing
import os
import pathlib
import random
import tempfile
import time

from oauth_session import LONGEST
# From Tests/OAuthServers, which that one finds.
from bed import Client, Failure, end_with_parent
from check import Flow

FORK = multiprocessing.get_context("fork")


class Plain:
    """The sessions of a plain client at one server."""

    def __init__(self, server, folder, least_life):
        self.flow, self.least_life = Flow(server.bed, server), least_life
        self.flow.client = Client(server.bed, server.facts["issuer"])
        folder = pathlib.Path(tempfile.mkdtemp(prefix="plain-", dir=folder))
        self.file, self.notes = folder / "tokens", folder / "notes"
        self.notes.touch()
        self.dead, self.read = 0, 0

    def phases(self, options):
        """What oauth_rotation.py does with Coffer; gives the figures of each part."""
        if options.minutes:
            yield "rotation", self.rotate(options)
        if options.rounds:
            yield "races", self.race(options.rounds, options.width)
        if options.at_once:
            yield "at once", self.race(1, options.at_once)

    # The processes

    def tokens(self):
        return json.loads(self.file.read_text(encoding="utf-8"))

    def store(self, answer, sent):
        new = self.file.with_name(f"tokens.{os.getpid()}")
        new.write_text(json.dumps({**answer, "expires": sent + answer["expires_in"]}), encoding="utf-8")
        new.rename(self.file)

    def note(self, what, token):
        # One short line, added in one step.
        with open(self.notes, "ab", buffering=0) as file:
            file.write((json.dumps([what, token]) + "\n").encode())

    def renew(self, token):
        """Sends a refresh token; gives whether the server gave another one."""
        sent = time.time()
        try:
            answer = self.flow.refresh(token)
        except OSError:
            self.note("unanswered", token)
            return False
        is_granted = answer.status == 200
        if is_granted:
            self.store(answer.json(), sent)
        self.note("granted" if is_granted else "refused", token)
        return is_granted

    def use(self, until, poll):
        end_with_parent()
        random.seed(os.getpid())
        time.sleep(random.uniform(0, poll))
        while time.monotonic() < until:
            tokens = self.tokens()
            token = tokens["refresh_token"]
            if tokens["expires"] - time.time() <= self.least_life and not self.renew(token):
                time.sleep(1)
                if self.tokens()["refresh_token"] == token:
                    self.note("dead", token)
            time.sleep(random.uniform(0.5, 1.5) * poll)

    def refresh(self, gate):
        end_with_parent()
        token = self.tokens()["refresh_token"]
        gate.wait(LONGEST)
        self.renew(token)

    # The one who counts

    def sign_in(self):
        sent = time.time()
        answer = self.flow.code()
        if answer.status != 200:
            raise Failure(f"The plain client's sign-in: {answer.status}")
        self.store(answer.json(), sent)

    def news(self):
        lines = self.notes.read_text(encoding="utf-8").splitlines()
        new, self.read = lines[self.read:], len(lines)
        return [json.loads(line) for line in new]

    def is_dead(self):
        """Whether the server refuses the newest refresh token. If not, its successor is stored."""
        sent = time.time()
        answer = self.flow.refresh(self.tokens()["refresh_token"])
        if answer.status == 200:
            self.store(answer.json(), sent)
        return answer.status != 200

    @staticmethod
    def figures(news, dead, sessions):
        kinds = [what for what, _ in news]
        requests = kinds.count("granted") + kinds.count("refused") + kinds.count("unanswered")
        return {"requests": requests, "answered with tokens": f"{kinds.count('granted')} of {requests}",
                "refused": kinds.count("refused"), "sessions dead": f"{dead} of {sessions}"}

    def rotate(self, options):
        self.sign_in()
        all_news, sessions, dead, until = [], 1, 0, time.monotonic() + options.minutes * 60
        processes = [FORK.Process(target=self.use, args=(until, options.poll), daemon=True)
                     for _ in range(options.processes)]
        for process in processes:
            process.start()
        while any(process.is_alive() for process in processes):
            time.sleep(0.1)
            news = self.news()
            all_news += news
            if any(what == "dead" and token == self.tokens()["refresh_token"] for what, token in news):
                if self.is_dead():
                    dead, sessions = dead + 1, sessions + 1
                    self.sign_in()
            if time.monotonic() > until + LONGEST:
                raise Failure("The plain client's processes do not end.")
        all_news += self.news()
        dead += self.is_dead()
        self.dead += dead
        return {"processes": options.processes, "minutes": options.minutes,
                **self.figures(all_news, dead, sessions)}

    def race(self, rounds, width):
        dead = 0
        self.news()
        for _ in range(rounds):
            self.sign_in()
            gate = FORK.Barrier(width)
            processes = [FORK.Process(target=self.refresh, args=(gate,), daemon=True) for _ in range(width)]
            for process in processes:
                process.start()
            for process in processes:
                process.join(LONGEST)
            dead += self.is_dead()
        self.dead += dead
        return {"rounds": rounds, "width": width, **self.figures(self.news(), dead, rounds)}
