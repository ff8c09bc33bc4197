#!/usr/bin/env python3
"""Disturbs the files around a session at a server, and looks at what `coffer oauth` sends then.

    oauth_disturbed.py --coffer PATH [--only links,damage,profiles,administrator,copies] [--seed S]

PATH is the command, with coffer-oauth beside it. There are two servers: the session's own, and one of others,
which must never receive a token of the first. The cases:

    links          the home under four names, of which some are links: processes that renew at the same
                   moment spend no token twice. A link that is turned to another home during a renewal leaves
                   the new token in the home in which the renewal began
    damage         bits, ends and blocks of the token file are changed, and it is replaced by that of another
                   home: every command refuses, and nothing is sent
    profiles       a profile is removed and entered again under its name, with another issuer or with other
                   endpoints: the other server receives no token, neither at once nor when its tokens wait to
                   be revoked, and after the old profile is entered again, its own server does
    administrator  /etc/coffer/oauth.json names other servers, is damaged, or is not root's alone: nothing is
                   sent. Needs root; the directory /etc of this machine stays as it is
    copies         two copies of a home use one session. With a grace period, both keep it; without one, the
                   other data of both stays

The exit code is 1 for any violation. Needs cc and openssl, as oauth_kills.py does.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from oauth_authority import Authority, State
from oauth_kills import ACCOUNT, OK, PROFILE, REFRESH, SIGN_IN_NEEDED, Home, Violation

REFUSED, DEADLINE = 7, 90
TOKEN, TOKEN_JSON = ("oauth", "token", PROFILE), ("oauth", "token", PROFILE, "--json")
LOGOUT, LOGOUT_ALL = ("oauth", "logout", PROFILE, "--account", ACCOUNT), ("oauth", "logout", "--all")
TOKENS = os.path.join("vault", "tokens")
MANAGED = "/etc/coffer/oauth.json"


class Recorded(Authority):
    """A server that keeps every form it was sent, and can hold its answers back."""

    def __init__(self, folder):
        self.forms, self.delay = [], 0.0
        super().__init__(folder)

    def post(self, handler, path, form):
        with self.lock:
            self.forms.append(form)
        if path == "/token" and self.delay:
            time.sleep(self.delay)
        super().post(handler, path, form)


class World:
    """Two servers, and homes with a session at the first one."""

    def __init__(self, options, root):
        self.coffer, self.root, self.count = options.coffer, root, 0
        self.random, self.problems, self.tried = random.Random(options.seed), [], 0
        for name in ("own", "other"):
            os.makedirs(os.path.join(root, name))
        self.own, self.other = Recorded(os.path.join(root, "own")), Recorded(os.path.join(root, "other"))
        self.authorities = os.path.join(root, "authorities.pem")
        with open(self.authorities, "w", encoding="ascii") as both:
            for server in (self.own, self.other):
                with open(server.authorities, encoding="ascii") as stream:
                    both.write(stream.read())

    def need(self, is_so, what):
        self.tried += 1
        if not is_so:
            self.problems.append(what)
            print("    VIOLATION: " + what, flush=True)

    def path(self):
        self.count += 1
        return os.path.join(self.root, "home-%d" % self.count)

    def paired(self, grace=0.0):
        self.own.put_back(State())
        self.own.grace, self.own.forms, self.other.forms = grace, [], []
        home = Home(self.coffer, self.path()).make()
        home.succeed("init", "--no-passcode", "--keyring", "file")
        home.succeed("token", "put", "kept.example", ACCOUNT, given=b"kept")
        self.add_profile(home, self.own)
        done = home.sign_in(self.own)
        if done.code != OK:
            raise Violation("the login: %s" % done)
        return home

    def add_profile(self, home, server, **endpoints):
        words = ["oauth", "profile", "add", PROFILE, "--issuer", server.issuer, "--client-id", "desktop",
                 "--scope", "api", "--host", "api.example.org", "--ca-file", self.authorities]
        for name, url in endpoints.items():
            words += ["--endpoint", "%s=%s" % (name, url)]
        home.succeed(*words)

    def newest(self):
        return self.own.state.families[-1].last()

    def check_nothing_leaked(self, what):
        tokens = {token for family in self.own.state.families for pair in family.pairs
                  for token in (pair.refresh, pair.access)}
        leaked = [form for form in self.other.forms if tokens & set(form.values())]
        self.need(not leaked, "%s: the other server was sent a token" % what)


def start(world, home, path, *words):
    return subprocess.Popen([world.coffer, *words], env={**home.environment(), "COFFER_HOME": path},
                            cwd=home.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def links(world):
    home = world.paired()
    real, link = os.path.join(home.root, "home"), os.path.join(home.root, "link")
    parent = home.root + "-link"
    os.symlink(real, link)
    os.symlink(home.root, parent)
    names = [real, link, os.path.join(parent, "home"), os.path.join(real, "..", "link")]
    world.own.delay = 0.3
    for _ in range(4):
        ended = []
        for process in [start(world, home, names[number % 4], *REFRESH) for number in range(8)]:
            _, errors = process.communicate(timeout=DEADLINE)
            ended.append((process.returncode, errors))
        world.need(all(code == OK for code, _ in ended), "renewals under several names: %r" % ended)
        world.need(world.own.state.reused == 0, "a token was spent twice under several names of the home")
    world.need(home.token("refresh") == world.newest().refresh, "the newest token is not stored")
    # The link is turned to a copy while the answer is held back.
    copy = home.copy(world.path())
    before, sent = copy.token("refresh"), len(world.own.forms)
    world.own.delay = 2.0
    process = start(world, home, link, *REFRESH)
    end = time.monotonic() + DEADLINE
    while len(world.own.forms) == sent and time.monotonic() < end:
        time.sleep(0.02)
    os.unlink(link)
    os.symlink(os.path.join(copy.root, "home"), link)
    process.communicate(timeout=DEADLINE)
    world.own.delay = 0.0
    world.need(process.returncode == OK, "a renewal under a link that is turned does not succeed")
    world.need(home.token("refresh") == world.newest().refresh, "the new token is not in the first home")
    world.need(copy.token("refresh") == before, "a renewal changed the home to which the link was turned")


def changes(world, data):
    source, size = world.random, len(data)
    for _ in range(10):
        at = source.randrange(size)
        changed = bytearray(data)
        changed[at] ^= 1 << source.randrange(8)
        yield "a bit of byte %d" % at, bytes(changed)
    for end in (0, 1, size // 2, size - 1):
        yield "cut to %d bytes" % end, data[:end]
    for _ in range(4):
        count = source.choice([16, 64, 256])
        first = source.randrange(size - 2 * count)
        second = source.randrange(first + count, size - count + 1)
        changed = bytearray(data)
        changed[first:first + count] = data[second:second + count]
        changed[second:second + count] = data[first:first + count]
        if bytes(changed) != data:
            yield "blocks at %d and %d" % (first, second), bytes(changed)


def damage(world):
    stranger = world.paired()
    with open(os.path.join(stranger.root, "home", TOKENS), "rb") as stream:
        foreign = stream.read()
    home = world.paired()
    with open(os.path.join(home.root, "home", TOKENS), "rb") as stream:
        data = stream.read()
    world.need(home(*TOKEN).code == OK, "the undamaged home does not work")
    for what, changed in [*changes(world, data), ("that of another home", foreign)]:
        victim = home.copy(os.path.join(world.root, "victim"))
        with open(os.path.join(victim.root, "home", TOKENS), "wb") as stream:
            stream.write(changed)
        world.own.forms = []
        codes = [victim(*words).code for words in (TOKEN_JSON, REFRESH, LOGOUT)]
        world.need(codes == [REFUSED] * 3, "token file, %s: %r" % (what, codes))
        world.need(not world.own.forms, "token file, %s: something was sent" % what)


def profiles(world):
    token, revoke = world.other.issuer + "/token", world.other.issuer + "/revoke"
    cases = [
        ("another issuer", world.other, {}), ("a token endpoint", world.own, {"token_endpoint": token}),
        ("a revocation endpoint", world.own, {"revocation_endpoint": revoke}),
        ("all endpoints", world.own, {"token_endpoint": token, "revocation_endpoint": revoke,
                                      "introspection_endpoint": token}),
    ]
    for what, server, endpoints in cases:
        home = world.paired()
        home.succeed("oauth", "profile", "remove", PROFILE, "--force")
        world.add_profile(home, server, **endpoints)
        for words in (TOKEN, TOKEN_JSON, REFRESH, ("oauth", "identity", PROFILE), LOGOUT, LOGOUT_ALL):
            home(*words)
        world.check_nothing_leaked("a profile with %s" % what)
        world.need(home.state() == "none", "a profile with %s cannot be signed out" % what)
        family = world.own.state.families[-1]
        home.succeed("oauth", "profile", "remove", PROFILE, "--force")
        world.add_profile(home, world.own)
        home.succeed(*LOGOUT_ALL)
        world.need(family.is_over(), "after a profile with %s, the own server does not revoke" % what)
        world.need(not home.waits_for_revocation(), "after a profile with %s, tokens still wait" % what)


def put_managed(text, mode=0o644, owner=0):
    with open(MANAGED, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(MANAGED, mode)
    os.chown(MANAGED, owner, 0)


def take_managed():
    if os.path.isdir(MANAGED) and not os.path.islink(MANAGED):
        os.rmdir(MANAGED)
    elif os.path.lexists(MANAGED):
        os.unlink(MANAGED)


def administrator(world):
    own = world.own.issuer[len("https://"):]
    allowed = json.dumps({"AppServiceHosts": [own], "OnlyShowAuthorizedHosts": True})
    cases = [
        ("another host", lambda: put_managed(json.dumps(
            {"AppServiceHosts": ["other.example.org"], "OnlyShowAuthorizedHosts": True}))),
        ("no host", lambda: put_managed(json.dumps({"OnlyShowAuthorizedHosts": True}))),
        ("labels of another number", lambda: put_managed(json.dumps(
            {"AppServiceHosts": [own], "AppServiceHostLabels": ["a", "b"]}))),
        ("a misspelt member", lambda: put_managed('{"OnlyShowAuthorizedHost":true}')),
        ("a member twice", lambda: put_managed(
            '{"OnlyShowAuthorizedHosts":false,"OnlyShowAuthorizedHosts":true}')),
        ("no text", lambda: put_managed("")), ("too much", lambda: put_managed(" " * (1 << 19))),
        ("a certificate", lambda: put_managed('{"RequireCertAuth":true}')),
        ("a file that others write", lambda: put_managed(allowed, mode=0o666)),
        ("a file of another user", lambda: put_managed(allowed, owner=1)),
        ("a link", lambda: os.symlink("/etc/hostname", MANAGED)),
        ("a link to nothing", lambda: os.symlink("/nowhere", MANAGED)),
        ("a pipe", lambda: os.mkfifo(MANAGED)), ("a directory", lambda: os.mkdir(MANAGED)),
    ]
    home = world.paired()
    put_managed(allowed)
    world.need(all(home(*words).code == OK for words in (TOKEN, TOKEN_JSON, REFRESH)),
               "a server that the administrator allows does not work")
    for what, put in cases:
        take_managed()
        put()
        world.own.forms = []
        codes = [home(*words).code for words in (TOKEN, TOKEN_JSON, REFRESH)]
        world.need(OK not in codes and not world.own.forms, "administrator, %s: %r" % (what, codes))
    take_managed()
    world.need(home(*REFRESH).code == OK, "without the file, the session does not work")


def copies(world):
    for grace in (30.0, 0.0):
        first = world.paired(grace)
        second = Home(world.coffer, world.path())
        subprocess.run(["cp", "-a", first.root, second.root], check=True, timeout=DEADLINE)
        codes = [home(*REFRESH).code for home in (first, second)]
        expected = [OK, OK] if grace else [OK, REFUSED_BY_SERVER]
        world.need(codes == expected, "two copies, %g s of grace: %r" % (grace, codes))
        for home in (first, second):
            world.need(home.succeed("token", "get", "kept.example", ACCOUNT).out == b"kept",
                       "two copies, %g s of grace: other data is gone" % grace)
        if not grace:
            world.need(second(*REFRESH).code in (REFUSED_BY_SERVER, SIGN_IN_NEEDED),
                       "a copy whose token was spent is used again")


REFUSED_BY_SERVER = 11
CASES = {"links": links, "damage": damage, "profiles": profiles, "administrator": administrator,
         "copies": copies}


def with_own_etc(root):
    """Gives this process, which must have a mount namespace of its own, a copy of /etc."""
    own = os.path.join(root, "etc")
    subprocess.run(["cp", "-a", "/etc", own], check=True, timeout=DEADLINE)
    folder = os.path.join(own, "coffer")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder, 0o755)
    subprocess.run(["mount", "--bind", own, "/etc"], check=True, timeout=DEADLINE)


def main():
    parser = argparse.ArgumentParser(description="Disturbs the files around a session.")
    parser.add_argument("--coffer", required=True, type=os.path.abspath, metavar="PATH",
                        help="the command, with coffer-oauth beside it")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CASES), metavar="a,b,…",
                        help=", ".join(CASES))
    parser.add_argument("--seed", default="1", help="of the damage")
    parser.add_argument("--has-own-mounts", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if "administrator" in options.only and not options.has_own_mounts:
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable,
                              os.path.abspath(__file__), "--has-own-mounts", *sys.argv[1:]])
    root = tempfile.mkdtemp(prefix="coffer-oauth-disturbed-")
    try:
        if "administrator" in options.only:
            with_own_etc(root)
        world = World(options, root)
        for name in options.only:
            tried = world.tried
            try:
                CASES[name](world)
            except Violation as violation:
                world.need(False, "%s: %s" % (name, violation))
            print("%-14s %4d checks" % (name, world.tried - tried), flush=True)
    finally:
        if options.has_own_mounts and os.path.ismount("/etc"):
            subprocess.run(["umount", "/etc"], check=False, timeout=DEADLINE)
        shutil.rmtree(root, ignore_errors=True)
    print("%d checks, %d violations" % (world.tried, len(world.problems)))
    return 1 if world.problems else 0


if __name__ == "__main__":
    sys.exit(main())
