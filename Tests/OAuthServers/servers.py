#!/usr/bin/env python3
"""Real authorization servers on loopback: Glewlwyd from Debian, django-oauth-toolkit from PyPI, a browser, faults.

    servers.py prepare DIR [--unpack-browser]
    servers.py start DIR glewlwyd|django [--grace N] [--life N] [--refresh-life N] [--faults]
    servers.py browser DIR URL
    servers.py proxy DIR PORT
    servers.py check DIR [glewlwyd|django]

prepare   fetches Debian packages and unpacks them, makes a Python for django-oauth-toolkit, a test authority and
          certificates. What is there already stays; DIR/prepared.json comes last.
start     prints one line of JSON when the server can be used: issuer, discovery, endpoints, mtlsEndpoints, ca, scope,
          resource, clients, redirects, user, certificate, key, keyID, log. Ends when standard input closes; nothing
          stays behind.
browser   signs the user in in a headless Chromium and ends at the redirect to a listener on 127.0.0.1; prints one line
          of JSON.
proxy     stands in front of the server at PORT; prints its own port as JSON, then takes faults from standard input.
check     runs code, refresh, reuse, lost answers, device, keys and the browser against the servers.

Refresh tokens rotate, and using one twice ends the session. --grace (Django only): for so many seconds a used refresh
token gives its successor again. --life and --refresh-life are those of access and refresh tokens, in seconds. --faults
puts the proxy in front, at the address that the server calls its own; mutual TLS is not offered then.

`start` and `proxy` read commands from standard input, one line of JSON each, and answer each with one line:
    {"do": "sign-in", "url": URL}           signs in without a browser: {"location": URL}, the redirect
    {"do": "allow-device", "code": CODE}    the user allows a device
    {"do": "fault", …}, {"do": "clear"}     with --faults: see proxy.py; takes back faults that did not strike yet
    {"do": "log"}                           the requests, tokens hashed: Django, and both with --faults
    {"do": "end"}                           ends without an answer, as the end of standard input does
An answer with "error" is a failure.

By hand: `Scripts/oauth-servers start django` on a terminal, which also says with which commands to sign in.
"""
import argparse
import json
import pathlib
import shutil
import signal
import sys
import tempfile

import bed as shared
from bed import Bed, Client, Failure, free_ports
from proxy import Proxy

ENDPOINTS = ["authorization_endpoint", "token_endpoint", "revocation_endpoint", "introspection_endpoint",
             "device_authorization_endpoint", "pushed_authorization_request_endpoint", "end_session_endpoint",
             "userinfo_endpoint", "jwks_uri"]


class Running:
    """A server with all that belongs to it, until the end of the block."""

    def __init__(self, bed, name, grace=0, life=60, refresh_life=3600, faults=False):
        if name == "glewlwyd" and grace:
            raise Failure("Glewlwyd has no grace period.")
        if not bed.prepared.exists():
            raise Failure(f"{bed.folder} is not prepared: servers.py prepare {bed.folder}")
        self.bed, self.folder = bed, pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=bed.runs))
        port, self.public, *listeners = free_ports(6)
        if not faults:
            self.public = port
        # One server compares redirects with their ports, so there are some to choose from.
        self.redirects = [f"http://127.0.0.1:{each}/callback" for each in listeners]
        options = {"grace": grace, "life": life, "refreshLife": refresh_life}
        self.server = server_class(name)(bed, self.folder, port, self.public, self.redirects, options)
        self.proxy = None
        self.faults = faults

    def __enter__(self):
        try:
            self.server.start()
            if self.faults:
                self.proxy = Proxy(self.bed, self.server.port, self.folder / "proxied", self.public)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.server.process:
            self.server.process.kill()
            self.server.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def logged(self):
        """The log with a line of JSON for each request; Glewlwyd's own is text."""
        return self.proxy.log if self.proxy else self.server.log if self.server.name == "django" else None

    def description(self):
        """What the line of JSON says."""
        said = self.server.description()
        metadata = Client(self.bed, said["discovery"]).get("").json()
        known = {**said.pop("missing", {}), **metadata}
        if self.logged():
            # The log begins with the test's first request.
            self.logged().write_text("")
        if self.faults:
            # The proxy would have to have the client's key to show its certificate to the server.
            said["clients"].pop("mtls", None)
        log = {"path": str(self.logged() or self.server.log), "format": "requests" if self.logged() else "glewlwyd"}
        return {"issuer": metadata["issuer"], **said, "ca": str(self.bed.ca),
                "endpoints": {name: known[name] for name in ENDPOINTS if name in known},
                "mtlsEndpoints": {} if self.faults else metadata.get("mtls_endpoint_aliases", {}),
                "redirects": self.redirects, "user": {"name": shared.USER, "password": shared.PASSWORD},
                "certificate": str(self.bed.tls / "client.pem"), "key": str(self.bed.tls / "client.key"), "keyID": "k1",
                "log": log}

    def command(self, words):
        """Does what one line of standard input asks for."""
        do = words.pop("do", None)
        if do == "sign-in":
            return {"location": self.server.sign_in(words["url"])}
        if do == "allow-device":
            self.server.allow_device(words["code"])
            return {}
        if do == "log" and self.logged():
            return {"requests": [json.loads(line) for line in self.logged().read_text().splitlines()]}
        if self.proxy:
            return proxied(self.proxy, do, words)
        raise Failure(f"{do} is not known, or needs --faults.")


def server_class(name):
    from django_server import Django
    from glewlwyd import Glewlwyd
    return {"django": Django, "glewlwyd": Glewlwyd}[name]


def proxied(proxy, do, words):
    if do == "fault":
        proxy.add(words)
    elif do == "clear":
        proxy.clear()
    elif do == "log":
        return {"requests": proxy.requests()}
    else:
        raise Failure(f"{do} is not known.")
    return {}


def show(value):
    print(json.dumps(value), flush=True)


def by_hand(facts):
    """The commands with which a user signs in, for a terminal."""
    port, path = facts["redirects"][0].removeprefix("http://127.0.0.1:").split("/", 1)
    host = facts["resource"].removeprefix("https://").split("/", 1)[0]
    scopes = "".join(f" --scope {scope}" for scope in facts["scope"].split())
    return (f"""In another terminal, in the same directory; the user is {shared.USER}, the password {shared.PASSWORD}:
    coffer oauth profile add try --issuer {facts["issuer"]} --client-id native{scopes} \\
        --host {host} --ca-file {facts["ca"]} --redirect-port {port} --redirect-path /{path} --key-proof never \\
        --endpoint revocation_endpoint={facts["endpoints"]["revocation_endpoint"]}
    BROWSER='Scripts/oauth-servers browser' coffer oauth login try    # or --no-browser, and a browser of your own
    curl --cacert {facts["ca"]} -H @<(coffer oauth token try --format header) {facts["resource"]}
    coffer oauth logout try; coffer oauth profile remove try --force    # Glewlwyd revokes nothing for "native"
Ctrl-D ends the server.""")


def obey(command):
    """Answers commands until standard input closes."""
    for line in sys.stdin:
        try:
            words = json.loads(line)
            if not isinstance(words, dict):
                raise Failure("A command is an object.")
            if words == {"do": "end"}:
                return
            show(command(words))
        except (Failure, OSError, ValueError, KeyError) as problem:
            show({"error": f"{type(problem).__name__}: {problem}"})


def arguments():
    lines = __doc__.split("\n", 1)
    parser = argparse.ArgumentParser(description=lines[0], epilog=lines[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="prepare|start|browser|proxy|check")
    verb = {name: verbs.add_parser(name) for name in ("prepare", "start", "browser", "proxy", "check")}
    for each in verb.values():
        each.add_argument("dir", metavar="DIR", type=Bed)
    verb["prepare"].add_argument("--unpack-browser", action="store_true", help="also where one is installed")
    verb["start"].add_argument("server", choices=["glewlwyd", "django"])
    for name, value in (("grace", 0), ("life", 60), ("refresh-life", 3600)):
        verb["start"].add_argument(f"--{name}", type=int, default=value, metavar="SECONDS")
    verb["start"].add_argument("--faults", action="store_true")
    verb["browser"].add_argument("url", metavar="URL")
    verb["proxy"].add_argument("port", metavar="PORT", type=int)
    verb["check"].add_argument("servers", nargs="*", metavar="glewlwyd|django")
    return parser.parse_args()


def main():
    given = arguments()
    # Also then the blocks below are left, and take away what they made.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    if given.verb == "prepare":
        from preparation import prepare
        show(prepare(given.dir, given.unpack_browser))
    elif given.verb == "start":
        with Running(given.dir, given.server, given.grace, given.life, given.refresh_life, given.faults) as running:
            facts = running.description()
            show(facts)
            if sys.stdin.isatty():
                print(by_hand(facts), file=sys.stderr, flush=True)
            obey(running.command)
    elif given.verb == "browser":
        from browser import Browser
        with Browser(given.dir) as browser:
            show(browser.sign_in(given.url))
    elif given.verb == "proxy":
        with tempfile.TemporaryDirectory(dir=given.dir.runs) as folder:
            proxy = Proxy(given.dir, given.port, pathlib.Path(folder) / "proxied")
            show({"port": proxy.port, "log": {"path": str(proxy.log), "format": "requests"}})
            obey(lambda words: proxied(proxy, words.pop("do", None), words))
    else:
        from check import check
        sys.exit(0 if check(given.dir, given.servers) else 1)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(str(failure))
