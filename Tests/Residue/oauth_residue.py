#!/usr/bin/env python3
"""Searches the memory of coffer and coffer-oauth for what they handled, after each flow of `coffer oauth`.

    oauth_residue.py --programs DIRECTORY [--reduced] [--only NAME] [--verbose]

--reduced leaves out flows that differ little from others.

The server is one of its own on loopback, which keeps a list of what it gave and was given: access, refresh
and id tokens, codes, verifiers, client secrets, and the signatures of assertions and proofs. The clients'
keys are imported, and the key for proofs is read from the vault. Each program is stopped just before it ends,
and before it becomes another one; then all of its memory that it can read itself is searched for eight bytes
of any secret as they are or reversed, and for as much of their Base64, hexadecimal, percent-encoded and
UTF-16 forms.

One line for each flow, `flow images MiB left`, and each finding below it. The exit code is 1 if there is any.
Needs leave to trace other processes (Scripts/residue), and Python's cryptography.
"""
import argparse
import base64
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import last_memory

HERE = pathlib.Path(__file__).resolve().parent
BROWSER = """#!/usr/bin/env python3
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile=%r)
handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
urllib.request.build_opener(*handlers).open(sys.argv[1], timeout=30).read()
"""
LOCATION = """
import ssl, sys, urllib.request
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None
context = ssl.create_default_context(cafile=sys.argv[2])
handlers = Stay(), urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
try:
    urllib.request.build_opener(*handlers).open(sys.argv[1], timeout=30)
except urllib.error.HTTPError as answer:
    print(answer.headers["Location"])
"""


FORMATS = "raw", "header", "json", "xoauth2", "oauthbearer", "kubernetes"


class Server:
    """The server as a process of its own."""

    def __init__(self, folder):
        command = [sys.executable, HERE / "issuing_server.py", folder]
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())

    def ask(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def secrets(self):
        return {name: base64.b64decode(text) for name, text in self.ask("secrets").items()}


class Bench:
    def __init__(self, arguments, folder):
        self.programs, self.folder = arguments.programs.resolve(), folder
        self.verbose, self.reduced = arguments.verbose, arguments.reduced
        self.library = last_memory.build(folder)
        self.server = Server(folder)
        self.home, self.passcode = folder / "home", secrets.token_urlsafe(24)
        # What the server does not see.
        self.own = {"passcode": self.passcode.encode()}
        browser = folder / "browser"
        browser.write_text(BROWSER % str(folder / "ca.pem"))
        browser.chmod(0o700)
        path = os.environ.get("PATH", "/usr/bin:/bin")
        self.environment = {"HOME": str(folder), "PATH": path, "BROWSER": str(browser), "LANG": "C.UTF-8",
                            "SWIFT_BACKTRACE": "enable=no", "XDG_RUNTIME_DIR": str(folder)}
        self.environment |= {name: value for name, value in os.environ.items() if name.startswith("LD_")}
        self.found = self.images = 0
        self.began = time.monotonic()

    def run(self, words, given=b"", extra=None, answer=None, passcode=True):
        """Runs coffer with what it reads; `answer` makes what it reads from what it says."""
        command = [str(self.programs / "coffer"), *words, "--home", str(self.home)]
        descriptors = dict(extra or {})
        if passcode:
            command += ["--passcode-fd", "3"]
            descriptors[3] = self.passcode.encode() + b"\n"
        ends, reads, outputs, answered = {}, {}, {1: b"", 2: b""}, []
        source = None
        for number, data in (descriptors | {0: given}).items():
            ends[number], write = os.pipe()
            if number == 0 and answer:
                source = write
            else:
                os.write(write, data)
                os.close(write)
        for number in outputs:
            reads[number], ends[number] = os.pipe()

        def collect(number):
            with os.fdopen(reads[number], "rb", buffering=0) as stream:
                while piece := stream.read(65536):
                    outputs[number] += piece
                    if number == 2 and answer and not answered and (line := answer(outputs[2])):
                        answered.append(line)
                        os.write(source, line)
                        os.close(source)
        threads = [threading.Thread(target=collect, args=(number,), daemon=True) for number in outputs]

        def forked():
            for end in ends.values():
                os.close(end)
            for thread in threads:
                thread.start()
        code, images = last_memory.Tracer(self.programs).run(command, ends, self.environment, forked)
        for thread in threads:
            thread.join(30)
        if code != 0:
            raise last_memory.Failure(f"{' '.join(words[:3])} ended with {code}: {outputs[2].decode()}")
        return outputs[1], images

    def flow(self, name, words, **how):
        """Runs a command of coffer and searches what it left."""
        output, images = self.run(words, **how)
        self.report(name, images)
        return output

    def report(self, name, images):
        search = last_memory.Search(self.library, self.server.secrets() | self.own)
        lines = {}
        for image in images:
            self.images += 1
            for secret, form, length, region, address, context in search.image(image):
                where = f"{image.program} at its {image.moment}: {secret} ({form}) in {region}"
                lines.setdefault(where, []).append((address, length, context))
        size = sum(image.size for image in images) / (1 << 20)
        print(f"{name:28} {len(images):3} {size:5.1f} {len(lines):4}", flush=True)
        for where, hits in lines.items():
            self.found += 1
            print(f"    {where}: {len(hits)} x, {max(length for _, length, _ in hits)} bytes")
            if self.verbose:
                for address, length, context in hits[:3]:
                    print(f"        {address:#x} {length}: {context!r}")
        if "exit" not in {image.moment for image in images}:
            raise last_memory.Failure("No memory was searched at the end.")

    # MARK: The server

    def profile(self, name, *more, **how):
        origin = f"https://127.0.0.1:{self.server.port}"
        words = ["oauth", "profile", "add", name, "--issuer", origin, "--client-id", name, "--scope",
                 "openid", "--scope", "api", "--host", f"127.0.0.1:{self.server.port}", "--ca-file",
                 str(self.folder / "ca.pem")]
        for endpoint, path in (("authorization_endpoint", "authorize"), ("token_endpoint", "token"),
                               ("device_authorization_endpoint", "device"), ("revocation_endpoint", "revoke"),
                               ("userinfo_endpoint", "userinfo"), ("jwks_uri", "keys")):
            words += ["--endpoint", f"{endpoint}={origin}/{path}"]
        return self.flow(f"{name}: profile add", words + list(more), **how)

    def redirect(self, said):
        """The address of the last page, once the program has said where to sign in."""
        for line in said.decode().splitlines():
            if "/authorize?" in line and said.endswith(b"\n"):
                command = [sys.executable, "-c", LOCATION, line.split()[-1], self.folder / "ca.pem"]
                found = subprocess.Popen(command, stdout=subprocess.PIPE)
                return found.stdout.readline()
        return None


def control(bench):
    """Proves that the search sees what a program holds: coffer's own arguments and environment."""
    mark = secrets.token_urlsafe(32)
    bench.environment["COFFER_TEST_MARK"] = mark
    texts = [text for _, text, _ in last_memory.forms(mark.encode()) if 0 not in text]
    bench.environment |= {f"MARK_{index}": text.decode() for index, text in enumerate(texts)}
    _, images = bench.run(["oauth", "list"])
    search = last_memory.Search(bench.library, {"mark": mark.encode()})
    for image in images:
        seen = {form for _, form, *_ in search.image(image)}
        if not {"raw", "reversed", "Base64", "hex", "HEX", "percent"} <= seen:
            raise last_memory.Failure(f"The search is blind: of {image.program} it sees {seen} only.")
    if {(image.program, image.moment) for image in images} != {("coffer", "exec"), ("coffer-oauth", "exit")}:
        raise last_memory.Failure(f"These images were searched: {[(i.program, i.moment) for i in images]}")
    for name in list(bench.environment):
        if name.startswith(("MARK_", "COFFER_TEST_MARK")):
            del bench.environment[name]


def session(bench, name):
    """A session from its sign-in to its end."""
    bench.flow(f"{name}: login", ["oauth", "login", name])
    bench.flow(f"{name}: refresh", ["oauth", "refresh", name])
    if name == "browser" or not bench.reduced:
        bench.flow(f"{name}: token", ["oauth", "token", name])
        bench.flow(f"{name}: identity", ["oauth", "identity", name])
        bench.flow(f"{name}: logout", ["oauth", "logout", name])


def browser(bench):
    bench.profile("browser")
    session(bench, "browser")


def pasted(bench):
    bench.own["client secret"] = secret = secrets.token_urlsafe(30).encode()
    bench.profile("pasted", "--auth", "basic", "--client-secret-fd", "4", extra={4: secret + b"\n"})
    bench.flow("pasted: login", ["oauth", "login", "pasted", "--no-browser"], answer=bench.redirect)
    bench.flow("pasted: refresh", ["oauth", "refresh", "pasted"])
    bench.server.ask("refuse")
    bench.flow("pasted: identity, renewing", ["oauth", "identity", "pasted"])
    bench.flow("pasted: logout --all", ["oauth", "logout", "--all"])


def device(bench):
    """Tokens that are due at once, so that each use renews them, and a sign-in on another device."""
    bench.own["client secret, posted"] = secret = secrets.token_urlsafe(30).encode()
    bench.profile("short", "--auth", "post", "--client-secret-fd", "4", extra={4: secret + b"\n"})
    bench.flow("short: login --device", ["oauth", "login", "short", "--device", "--account", "ada"])
    for form in ("raw", "json") if bench.reduced else FORMATS:
        bench.flow(f"short: token, {form}", ["oauth", "token", "short", "--format", form])
    bench.flow("short: revoke", ["oauth", "revoke", "short"])


def assertion(bench):
    key = (bench.folder / "assertion.key").read_bytes()
    bench.profile("assertion", "--auth", "private-key-jwt")
    words = ["oauth", "key", "import", "assertion", "--key-fd", "4"]
    bench.flow("assertion: key import", words, extra={4: key})
    session(bench, "assertion")
    if not bench.reduced:
        bench.flow("assertion: key create", ["oauth", "key", "create", "assertion", "--replace"])
        session(bench, "assertion")


def mutual(bench):
    key = (bench.folder / "client.key").read_bytes()
    bench.profile("mutual", "--auth", "mutual-tls")
    words = ["oauth", "key", "import", "mutual", "--key-fd", "4", "--certificate"]
    bench.flow("mutual: key import", [*words, str(bench.folder / "client.pem")], extra={4: key})
    session(bench, "mutual")


def proof_key(row):
    """The session's key in the stored form: three bytes, then two fields, each after its length."""
    record = 7 + int.from_bytes(row[3:7], "big")
    key = row[record + 4:record + 4 + int.from_bytes(row[record:record + 4], "big")]
    if len(key) != 32:
        raise last_memory.Failure("The session has no key for proofs.")
    return key


def proof(bench):
    bench.profile("proof", "--key-proof", "always")
    _, images = bench.run(["oauth", "login", "proof"])
    row, _ = bench.run(["token", "get", "oauth:proof#grant", "", "--kind", "other"])
    bench.own["key for proofs"] = proof_key(row)
    bench.report("proof: login", images)
    for word in ("refresh", "identity") if bench.reduced else ("token", "refresh", "identity", "logout"):
        bench.flow(f"proof: {word}", ["oauth", word, "proof"])


def silent(bench):
    """A vault without a passcode: coffer answers by itself, and renews for git."""
    bench.home = bench.folder / "silent"
    bench.run(["init", "--keyring", "file", "--no-passcode"], passcode=False)
    how = {"passcode": False}
    host = f"127.0.0.1:{bench.server.port}"
    bench.profile("live", **how)
    bench.flow("live: login", ["oauth", "login", "live"], **how)
    bench.flow("live: token", ["oauth", "token", "live"], **how)
    if not bench.reduced:
        bench.flow("live: header", ["oauth", "token", "live", "--format", "header"], **how)
    request = f"protocol=https\nhost={host}\n\n".encode()
    bench.flow("live: git-credential get", ["git-credential", "get"], given=request, **how)
    bench.flow("live: logout", ["oauth", "logout", "live"], **how)
    bench.profile("short2", **how)
    bench.flow("short2: login", ["oauth", "login", "short2"], **how)
    bench.flow("short2: git-credential get", ["git-credential", "get"], given=request, **how)
    bench.flow("short2: logout", ["oauth", "logout", "short2"], **how)


FLOWS = {"browser": browser, "pasted": pasted, "device": device, "assertion": assertion, "mutual": mutual,
         "proof": proof, "silent": silent}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--reduced", action="store_true")
    parser.add_argument("--only", choices=FLOWS, action="append")
    parser.add_argument("--verbose", action="store_true", help="print what surrounds each finding")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("Left out: only root can read the memory of these programs.", file=sys.stderr)
        return 0
    # A time limit ends the script with its folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="coffer-residue-"))
    bench = None
    try:
        bench = Bench(arguments, folder)
        bench.run(["init", "--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2"])
        control(bench)
        print("flow                      images  MiB left", flush=True)
        for name in arguments.only or FLOWS:
            FLOWS[name](bench)
    except last_memory.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    finally:
        if bench:
            bench.server.process.stdin.close()
            bench.server.process.kill()
        shutil.rmtree(folder)
    print(f"{bench.images} images, {bench.found} findings, {time.monotonic() - bench.began:.1f} s")
    return 1 if bench.found else 0


if __name__ == "__main__":
    sys.exit(main())
