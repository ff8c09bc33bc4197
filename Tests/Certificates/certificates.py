#!/usr/bin/env python3
"""Tries the certificates of `coffer key` with OpenSSL's own program as the authority and as the reader.

    certificates.py --coffer PATH [--only NAME,…]

Each scenario makes a vault in a directory of its own. One line for each, `NAME ok` or `NAME FAILED`, with the reason;
the exit code is 1 when one failed. Needs openssl, ssh-keygen and Python's cryptography, which signs certificates with
dates that openssl's program does not.
"""

import argparse
import base64
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

DEADLINE = 60
PASSCODE = b"correct horse\n"
OK, ABSENT, LOCKED, CONFLICT, REFUSED, EXISTS, USAGE = 0, 3, 4, 10, 11, 13, 64
NAMES = ["--dns", "a.example", "--dns", "*.b.example", "--ip", "192.0.2.7", "--ip", "2001:db8::1f", "--email",
         "ada@a.example", "--uri", "urn:example:ada"]
PRINTED = ["DNS:a.example", "DNS:*.b.example", "IP Address:192.0.2.7", "IP Address:2001:DB8:0:0:0:0:0:1F",
           "email:ada@a.example", "URI:urn:example:ada"]


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


class World:
    """A vault and an authority, in a directory that is removed at the end."""

    def __init__(self, coffer, passcode=False):
        self.coffer = coffer
        self.path = tempfile.mkdtemp(prefix="coffer-certificates-")
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.path, "LC_ALL": "C.UTF-8",
                            "COFFER_HOME": os.path.join(self.path, "vault")}
        options = ["--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2", "--policy", "none"]
        self.passcode = passcode
        self(*["init", *options], *([] if passcode else ["--no-passcode"]))

    def __call__(self, *arguments, data=b"", expected=OK):
        """Runs the command; the passcode, if there is one, is given each time."""
        if not self.passcode or arguments[0] == "lock":
            return self.run([self.coffer, *arguments], data, expected)
        read, write = os.pipe()
        try:
            os.write(write, PASSCODE)
            os.close(write)
            return self.run([self.coffer, *arguments, "--passcode-fd", str(read)], data, expected, [read])
        finally:
            os.close(read)

    def run(self, command, data=b"", expected=OK, descriptors=()):
        done = subprocess.run(command, input=data, env=self.environment, cwd=self.path, timeout=DEADLINE,
                              capture_output=True, start_new_session=True, pass_fds=descriptors)
        if expected is not None:
            check(done.returncode == expected,
                  f"{command}: {done.returncode}, not {expected}: {done.stdout!r} {done.stderr!r}")
        return done

    def openssl(self, *arguments, data=b"", expected=OK):
        return self.run(["openssl", *arguments], data, expected).stdout

    def json(self, *arguments):
        return json.loads(self(*arguments, "--json").stdout)

    def certificate(self, alias):
        return self.json("key", "show", alias)["certificate"]

    def stored(self):
        """The sealed file of key pairs."""
        with open(os.path.join(self.environment["COFFER_HOME"], "vault", "keypairs"), "rb") as stream:
            return stream.read()

    def file(self, name, content):
        path = os.path.join(self.path, name)
        with open(path, "wb") as stream:
            stream.write(content)
        return path

    def authority(self, name, key=("ec", "ec_paramgen_curve:P-256"), signer=None, extensions="CA:TRUE", options=()):
        """Makes an authority with openssl; returns its certificate in PEM. Another one signs it, or it does."""
        place = os.path.join(self.path, name)
        kind, option = key
        self.openssl("genpkey", "-algorithm", kind, "-pkeyopt", option, "-out", place + ".key")
        self.openssl("req", "-new", "-key", place + ".key", "-subj", "/CN=" + name, "-out", place + ".csr")
        settings = self.file(name + ".cnf", b"basicConstraints=critical," + extensions.encode() + b"\n")
        signing = ["-signkey", place + ".key"] if signer is None else self.signing(signer)
        self.openssl("x509", "-req", "-in", place + ".csr", "-out", place + ".pem", "-days", "300", "-extfile",
                     settings, *signing, *options)
        with open(place + ".pem", "rb") as stream:
            return stream.read()

    def signing(self, name):
        place = os.path.join(self.path, name)
        return ["-CA", place + ".pem", "-CAkey", place + ".key", "-CAcreateserial"]

    def sign(self, request, name, *options):
        """What the authority answers to a request, in PEM."""
        return self.openssl("x509", "-req", "-copy_extensions", "copyall", "-days", "200", *self.signing(name),
                            *options, data=request)

    def dated(self, request, name, start, end):
        """A certificate that is valid between these days from now."""
        with open(os.path.join(self.path, name + ".key"), "rb") as stream:
            key = serialization.load_pem_private_key(stream.read(), None)
        now = datetime.datetime.now(datetime.timezone.utc)
        csr = x509.load_pem_x509_csr(request)
        made = x509.CertificateBuilder(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), csr.subject, csr.public_key(), 7,
            now + datetime.timedelta(days=start), now + datetime.timedelta(days=end, minutes=30))
        made = made.sign(key, hashes.SHA256())
        return made.public_bytes(serialization.Encoding.PEM)

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)


def der(pem):
    return x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)


def requests(world):
    """A request by each algorithm is valid for openssl, and what an authority makes of it is installed and verifies."""
    root = world.authority("root")
    middle = world.authority("middle", signer="root")
    place = os.path.join(world.path, "rsa")
    world.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", place])
    for alias in ("ed25519", "p256", "p384"):
        world("key", "generate", alias, "--algorithm", alias, "--use", "tls-client", "--use", "sign")
    world("ssh", "import", place, "--alias", "rsa")
    world("key", "csr", "rsa", expected=REFUSED)
    for alias in ("ed25519", "p256", "p384"):
        check(world.certificate(alias) is None, "a certificate out of nowhere")
        request = world("key", "csr", alias, "--common-name", "Ada Ü", "--organization", "Example", "--country", "DE",
                        *NAMES).stdout
        text = world.openssl("req", "-verify", "-noout", "-text", "-nameopt", "RFC2253,-esc_msb",
                             data=request).decode()
        for part in [*PRINTED, "CN=Ada Ü,O=Example,C=DE", "TLS Web Client Authentication", "CA:FALSE",
                     "Digital Signature"]:
            check(part in text, f"{part} is not in the request: {text}")
        check(world.certificate(alias) == {"state": "awaitingSignature"}, "not awaiting")
        check(b"awaitingSignature" in world("key", "list").stdout, "the list does not say that it is awaited")
        leaf = world.sign(request, "middle")
        world("key", "install", alias, world.file("chain.pem", b"Ours:\n" + leaf + middle + root))
        found = world.certificate(alias)
        check(found["state"] == "usable" and found["daysLeft"] in (199, 200) and found["issuer"] == "CN=middle"
              and found["subject"] == "CN=Ada Ü,O=Example,C=DE" and found["names"] == PRINTED, f"{found}")
        printed = world("key", "public", alias, "--form", "certificate").stdout
        check(printed == leaf + middle + root, "another chain is printed")
        trusted, below = world.file("root.pem", root), world.file("middle.pem", middle)
        world.openssl("verify", "-purpose", "sslclient", "-CAfile", trusted, "-untrusted", below,
                      world.file("leaf.pem", leaf))
        # The same in DER, alone; and another request leaves it in use.
        world("key", "install", alias, data=der(leaf))
        check(world("key", "public", alias, "--form", "certificate").stdout == leaf, "the DER is another one")
        world("key", "csr", alias)
        check(world.certificate(alias)["state"] == "usable", "a new request took the certificate away")
        message = b"message"
        signature = world("key", "sign", alias, data=message).stdout.strip().decode()
        world("key", "verify", alias, "--signature", signature, data=message)


def life(certificate):
    """The time for which a certificate is valid. Debian 12's cryptography does not know the newer names."""
    if hasattr(certificate, "not_valid_after_utc"):
        return certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after - certificate.not_valid_before


def self_signed(world):
    """A self-signed certificate is what openssl expects of one, and replaces another only when it is told to."""
    for alias, use in (("p256", "tls-client"), ("p384", "sign"), ("ed25519", "tls-client")):
        world("key", "generate", alias, "--algorithm", alias, "--use", use)
        made = world("key", "self-signed", alias, "--days", "825", "--organization", "Example", *NAMES).stdout
        text = world.openssl("x509", "-noout", "-text", "-nameopt", "RFC2253", data=made).decode()
        for part in [*PRINTED, "Version: 3", "CA:FALSE", f"Subject: CN={alias},O=Example",
                     "Subject Key Identifier"]:
            check(part in text, f"{part} is not in {text}")
        check(("TLS Web Client Authentication" in text) == (use == "tls-client"), f"{use}: {text}")
        loaded = x509.load_pem_x509_certificate(made)
        check(life(loaded) < datetime.timedelta(days=825), "too long")
        check(0 < loaded.serial_number < 2**64, "the serial number has more than 64 bits")
        place = world.file("self.pem", made)
        world.openssl("verify", "-CAfile", place, place)
        world("key", "self-signed", alias, expected=EXISTS)
        check(world("key", "public", alias, "--form", "certificate").stdout == made, "it was replaced")
        again = world("key", "self-signed", alias, "--replace").stdout
        check(x509.load_pem_x509_certificate(again).serial_number != loaded.serial_number, "a serial number came twice")
        check(world("key", "public", alias, "--form", "certificate").stdout == again, "it was not replaced")
    for options in (["--days", "826"], ["--days", "0"], ["--common-name", "a\nb"], ["--common-name", "a" * 65],
                    ["--country", "de"], ["--dns", "A.example"], ["--dns", "a..b"], ["--ip", "1.2.3"],
                    ["--ip", "::1::"], ["--email", "ada"], ["--uri", "nothing"], ["--purpose", "other"]):
        world("key", "self-signed", "p256", "--replace", *options, expected=USAGE)
    world("key", "self-signed", "p384", "--replace", "--purpose", "client", expected=REFUSED)
    world("key", "self-signed", "none", expected=ABSENT)
    world("key", "generate", "p256", expected=EXISTS)


def refusals(world):
    """Nothing that is wrong is installed, and what is there stays."""
    root = world.authority("root")
    middle = world.authority("middle", signer="root")
    other = world.authority("other")
    weak = world.authority("weak", ("rsa", "rsa_keygen_bits:1024"))
    strong = world.authority("strong", ("rsa", "rsa_keygen_bits:2048"))
    old = world.authority("old", signer="strong", options=["-sha1"])
    none = world.authority("none", signer="root", extensions="CA:FALSE")
    for alias in ("mine", "foreign"):
        world("key", "generate", alias, "--algorithm", "p256", "--use", "tls-client")
    request = world("key", "csr", "mine").stdout
    leaf = world.sign(request, "middle")
    world("key", "install", "mine", data=leaf + middle)
    foreign = world.sign(world("key", "csr", "foreign").stdout, "middle")
    kept = world.stored()
    lines = leaf.decode().splitlines()
    binary = der(leaf)
    indefinite = b"\x30\x80" + binary[4:] + b"\x00\x00"
    with open(os.path.join(world.path, "other.key"), "rb") as stream:
        key = stream.read()
    cases = [
        ("another key", CONFLICT, foreign + middle), ("the authority alone", CONFLICT, middle),
        ("the wrong order", CONFLICT, middle + leaf), ("the root too early", USAGE, leaf + root + middle),
        ("another authority", USAGE, leaf + other), ("twice the same", USAGE, leaf + leaf),
        ("no authority", USAGE, world.sign(request, "none") + none),
        ("a weak authority", REFUSED, world.sign(request, "weak") + weak),
        ("SHA-1", REFUSED, world.sign(request, "strong", "-sha1")),
        ("SHA-1 above", REFUSED, world.sign(request, "old") + old),
        ("expired", REFUSED, world.dated(request, "root", -9, -1)),
        ("not yet valid", REFUSED, world.dated(request, "root", 1, 9)),
        ("bytes after DER", USAGE, binary + b"\x00"), ("two in DER", USAGE, binary + der(middle)),
        ("truncated", USAGE, binary[:-1]), ("a long length", USAGE, b"\x30\x84\xff\xff\xff\xff" + binary[4:]),
        ("a short length", USAGE, binary[:3] + bytes([(binary[3] - 1) % 256]) + binary[4:]),
        ("an indefinite length", USAGE, indefinite),
        ("bytes after DER in PEM", USAGE, b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(
            binary + b"\x00") + b"\n-----END CERTIFICATE-----\n"),
        ("no end", USAGE, "\n".join(lines[:-1]).encode()), ("no start", USAGE, "\n".join(lines[1:]).encode()),
        ("not Base64", USAGE, leaf.replace(b"MII", b"M*I", 1)), ("nothing", USAGE, b""), ("text", USAGE, b"hello\n"),
        ("a key", USAGE, leaf + key), ("a request", USAGE, request), ("nine", USAGE, leaf + middle * 8),
        ("64 KiB + 1", USAGE, leaf + b"#" * (65_537 - len(leaf))),
        ("64 KiB + 1 in DER", USAGE, binary + bytes(65_537 - len(binary))), ("endless", USAGE, b"\x30" * 9_000_000),
    ]
    for name, code, content in cases:
        done = world("key", "install", "mine", data=content, expected=None)
        check(done.returncode == code and done.stderr, f"{name}: {done.returncode}, not {code}: {done.stderr!r}")
        check(world.stored() == kept, f"{name}: something was stored")
    world("key", "install", "none", data=leaf, expected=ABSENT)
    world("key", "install", "mine", os.path.join(world.path, "missing"), expected=ABSENT)
    world("key", "install", "mine", "--allow-expired", data=world.dated(request, "root", 1, 9), expected=REFUSED)
    world("key", "install", "mine", data=(leaf + middle).ljust(65_536, b"#"))


def expiry(world):
    """The end is told at 30, 7 and 0 days, on standard error, in status and by doctor."""
    world.authority("root")
    world("key", "generate", "mine", "--use", "tls-client")
    request = world("key", "csr", "mine").stdout
    awaited = world.json("status")["certificates"]
    check(awaited == [{"alias": "mine", "state": "awaitingSignature", "expires": None, "daysLeft": None}], f"{awaited}")
    for days, told in ((31, None), (30, b"expires in 30 days"), (7, b"expires in 7 days"), (1, b"expires in 1 day,"),
                       (0, b"expires within a day"), (-1, b"expired at")):
        options = ["--allow-expired"] if days < 0 else []
        world("key", "install", "mine", *options, data=world.dated(request, "root", -40, days))
        state = "usable" if days >= 0 else "expired"
        for arguments in (("key", "list"), ("key", "show", "mine"), ("status",)):
            for extra in ((), ("--json",)):
                done = world(*arguments, *extra)
                check(told in done.stderr if told else b"expire" not in done.stderr,
                      f"{days} days: {arguments} says {done.stderr!r}")
        found = world.json("status")["certificates"][0]
        check((found["alias"], found["state"], found["daysLeft"]) == ("mine", state, days), f"{days} days: {found}")
        check(world.certificate("mine")["daysLeft"] == days, f"{days} days: another number in key show")
        checks = [one for one in json.loads(world("doctor", "--json", expected=None).stdout)["checks"]
                  if one["name"] == "key-certificate"]
        status = [one["status"] for one in checks]
        check(status == ([] if told is None else ["missing" if days < 0 else "advisory"]), f"{days} days: {checks}")


def locked(world):
    """A locked vault shows certificates, and makes and installs none."""
    world.authority("root")
    world("key", "generate", "mine", "--use", "tls-client")
    leaf = world.sign(world("key", "csr", "mine").stdout, "root")
    world("key", "install", "mine", data=leaf)
    world.passcode = False
    world("lock")
    check(world.certificate("mine")["state"] == "usable", "not readable while locked")
    check(world("key", "public", "mine", "--form", "certificate").stdout == leaf, "not readable while locked")
    check(world("key", "names").stdout == b"mine\n", "no completion while locked")
    world("key", "csr", "mine", expected=LOCKED)
    world("key", "self-signed", "mine", "--replace", expected=LOCKED)
    world("key", "install", "mine", data=leaf, expected=LOCKED)
    world.passcode = True
    world("key", "rename", "mine", "other")
    world("reclass", "--key-pairs", "--class", "afterFirstUnlock")
    world("rotate")
    check(world("key", "public", "other", "--form", "certificate").stdout == leaf, "a change lost the certificate")
    world("key", "generate", "kept", "--use", "tls-client", "--confirm")
    world("key", "csr", "kept", expected=REFUSED)
    check(world.certificate("kept") is None, "an unconfirmed request counts")
    world("key", "generate", "$(touch owned)")
    check(world("key", "names").stdout == b"kept\nother\n", "a shell would expand an offered alias")


SCENARIOS = [requests, self_signed, refusals, expiry, locked]


def run(description, scenarios, kind):
    """Runs the scenarios that the arguments name, or all, each with a vault of its own; returns the exit code."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--coffer", required=True)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    chosen = arguments.only.split(",") if arguments.only else [scenario.__name__ for scenario in scenarios]
    failed = 0
    for scenario in scenarios:
        if scenario.__name__ not in chosen:
            continue
        world = kind(os.path.abspath(arguments.coffer), passcode=scenario.__name__ in ("locked", "inputs"))
        try:
            scenario(world)
            print(scenario.__name__, "ok", flush=True)
        except Failed as error:
            failed += 1
            print(scenario.__name__, "FAILED:", error, flush=True)
        except Exception:
            failed += 1
            print(scenario.__name__, "FAILED:", traceback.format_exc(), flush=True)
        finally:
            world.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(__doc__, SCENARIOS, World))
