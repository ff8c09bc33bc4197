#!/usr/bin/env python3
"""Tries `coffer pkcs11` with p11-kit, and through it with p11tool, pkcs11-tool, curl, gnutls-cli and nginx.

    pkcs11.py --coffer PATH [--only NAME,…]

Each scenario makes a vault in a home of its own. One line for each, `NAME ok` or `NAME FAILED`, with the reason; the
exit code is 1 when one failed. As root, everything runs as the user nobody, who must be able to run PATH, because
p11-kit reads no user's settings for root. Needs curl, gcc, gnutls-bin, libengine-pkcs11-openssl, libp11-kit-dev,
nginx-light, opensc, openssl, p11-kit and Python's cryptography.
"""

import argparse
import hashlib
import os
import shutil
import sys
import traceback

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

import client as pkcs11
from boundary import ends, layout, misuse, threads
from client import (ACTIVE, CERTIFICATE, DATA, ECDSA, EDDSA, KEY_HANDLE, KEY_TYPE, LENGTH, MECHANISM,
                    NOT_BEGUN, NOT_INITIALIZED, NOT_LOGGED_IN, OBJECT_HANDLE, OK, PARAMETER, PRIVATE, PUBLIC,
                    REJECTED, REMOVED, RSA_PKCS, RSA_PSS, SENSITIVE, SESSION_COUNT, SESSION_HANDLE, TOO_SMALL,
                    UNSUPPORTED, apart)
from hostile import hostile
from residue import residue
from states import damaged, lasting, rotated
from world import Failed, World, check

INFO = bytes.fromhex("3031300d060960864801650304020105000420")
NAME = "pkcs11:token=coffer;object="


def pss(hash_number=0x250, mask=2, salt=32):
    return b"".join(value.to_bytes(8, sys.byteorder) for value in (hash_number, mask, salt))


def public_pem(world, alias):
    return world("key", "public", alias, "--form", "pem").stdout


def public_key(world, alias):
    return serialization.load_pem_public_key(public_pem(world, alias))


def imported_rsa(world, alias):
    """Imports an RSA key; returns its private numbers."""
    pem = world.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]).stdout
    world("key", "import", alias, "--use", "sign", data=pem)
    return serialization.load_pem_private_key(pem, None).private_numbers()


def secrets_in(world, numbers=None):
    """The files of the user that contain a private key or one of the private numbers."""
    parts = [b"PRIVATE KEY-----"]
    if numbers:
        parts += [value.to_bytes((value.bit_length() + 7) // 8, "big") for value in (numbers.d, numbers.p, numbers.q)]
    found = []
    for folder, _, names in os.walk(world.home):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and any(part in world.read(path) for part in parts):
                found.append(path)
    return found


def listing(coffer):
    """p11tool and pkcs11-tool list what there is, also while the vault is locked, and nothing secret."""
    world = World(coffer)
    try:
        world.authority()
        world("key", "generate", "work", "--algorithm", "p256", "--use", "tls-client")
        world("key", "generate", "paper", "--algorithm", "p384", "--use", "sign")
        world("key", "generate", "shell", "--use", "ssh")
        world.certify("work")
        for state in ("unlocked", "locked"):
            text = world.run(["p11tool", "--list-all", "pkcs11:token=coffer"]).stdout.decode()
            for expected in ("object=work;type=cert", "object=work;type=private", "object=work;type=public",
                             "object=paper;type=private", "object=work%20authority%201;type=cert"):
                check(expected in text, f"{state}: no {expected} in {text}")
            check("shell" not in text, f"a key without the use is listed: {text}")
            certificate = world.run(["p11tool", "--export", NAME + "work;type=cert"]).stdout
            check(certificate.strip() in world.read(f"{world.site}/work.chain"), f"another one: {certificate!r}")
            proxy = ["pkcs11-tool", "--module", pkcs11.proxy(), "--token-label", "coffer"]
            text = world.run([*proxy, "--list-objects"]).stdout.decode()
            check(text.count("Private Key Object") == 2 and "never extractable" not in text, text)
            text = world.run([*proxy, "--list-mechanisms"]).stdout.decode()
            check("ECDSA" in text and "RSA-PKCS" in text, text)
            if state == "unlocked":
                world.lock()
    finally:
        world.close()


def tls(coffer):
    """curl and gnutls-cli sign in to nginx by alias, with no key file anywhere, and not while the vault is locked."""
    world = World(coffer)
    try:
        world.authority()
        world.write(f"{world.home}/planted", "-----BEGIN PRIVATE KEY-----")
        check(secrets_in(world) == [f"{world.home}/planted"], "the search does not find a planted key")
        os.remove(f"{world.home}/planted")
        for alias, curve in (("work", "p256"), ("spare", "p384")):
            world("key", "generate", alias, "--algorithm", curve, "--use", "tls-client")
            world.certify(alias)
        port = world.serve()
        without = world.run(["curl", "-sS", "--cacert", f"{world.site}/ca.pem", f"https://127.0.0.1:{port}/"])
        check(b"400 No required SSL certificate" in without.stdout, f"not asked for: {without.stdout!r}")
        for alias in ("work", "spare"):
            for program in (curl, gnutls):
                done = program(world, alias, port)
                check(f"SUCCESS CN={alias}".encode() in done.stdout,
                      f"{program.__name__} {alias}: {done.stdout!r} {done.stderr!r}")
        check(secrets_in(world) == [], "a file with a private key is left")
        world.lock()
        for program in (curl, gnutls):
            done = program(world, "work", port)
            check(b"SUCCESS" not in done.stdout and done.returncode != 0, f"not refused: {done.stdout!r}")
            check(b"vault is locked" in done.stderr and b"coffer unlock" in done.stderr, f"why: {done.stderr!r}")
        world.unlock()
        check(b"SUCCESS" in curl(world, "work", port).stdout, "refused after unlocking again")
    finally:
        world.close()


def curl(world, alias, port):
    return world.run(["curl", "-sS", "--cacert", f"{world.site}/ca.pem", "--cert", f"{NAME}{alias};type=cert",
                      "--key", f"{NAME}{alias};type=private", f"https://127.0.0.1:{port}/"], expected=None,
                     extra={"PKCS11_MODULE_PATH": pkcs11.proxy()})


def gnutls(world, alias, port):
    return world.run(["gnutls-cli", "--x509cafile", f"{world.site}/ca.pem", "--x509certfile",
                      f"{NAME}{alias};type=cert", "--x509keyfile", f"{NAME}{alias};type=private", "--port", str(port),
                      "127.0.0.1"], b"GET / HTTP/1.0\r\n\r\n", expected=None)


def signatures(coffer):
    """Every mechanism signs what another implementation verifies; other digests and forms are refused."""
    world = World(coffer)
    try:
        for alias in ("p256", "p384", "ed25519"):
            world("key", "generate", alias, "--algorithm", alias, "--use", "sign")
        numbers = imported_rsa(world, "rsa")
        check(secrets_in(world, numbers) == [], "a file with the imported key is left")
        made = apart(world, signed)
        made = dict(line.split() for line in made.splitlines())
        digest = hashlib.sha256(b"text").digest()
        for alias in ("p256", "p384"):
            raw = bytes.fromhex(made[alias])
            half = len(raw) // 2
            der = utils.encode_dss_signature(*(int.from_bytes(part, "big") for part in (raw[:half], raw[half:])))
            public_key(world, alias).verify(der, digest, ec.ECDSA(utils.Prehashed(hashes.SHA256())))
            try:
                public_key(world, alias).verify(der, digest[::-1], ec.ECDSA(utils.Prehashed(hashes.SHA256())))
                raise Failed("another digest verifies")
            except InvalidSignature:
                pass
        prehashed = utils.Prehashed(hashes.SHA256())
        public_key(world, "rsa").verify(bytes.fromhex(made["rsa"]), digest, padding.PKCS1v15(), prehashed)
        public_key(world, "rsa").verify(
            bytes.fromhex(made["pss"]), digest, padding.PSS(padding.MGF1(hashes.SHA256()), 32), prehashed)
        if "ed25519" in made:
            public_key(world, "ed25519").verify(bytes.fromhex(made["ed25519"]), b"text")
        tools(world, made)
        check(secrets_in(world, numbers) == [], "a file with the imported key is left after its use")
    finally:
        world.close()


def tools(world, made):
    """pkcs11-tool signs digests, and openssl verifies them; p11tool tries each key itself."""
    digest = hashlib.sha256(b"text").digest()
    for alias, mechanism, options, data, prepared in (
            ("p256", "ECDSA", ["--signature-format", "openssl"], digest, []),
            ("p384", "ECDSA", ["--signature-format", "openssl"], digest, []),
            ("rsa", "RSA-PKCS", [], INFO + digest, ["rsa_padding_mode:pkcs1", "digest:sha256"]),
            ("rsa", "RSA-PKCS-PSS", ["--hash-algorithm", "SHA256", "--mgf", "MGF1-SHA256", "--salt-len", "32"], digest,
             ["rsa_padding_mode:pss", "digest:sha256", "rsa_pss_saltlen:32"])):
        for name, content in (("data", data), ("digest", digest)):
            with open(f"{world.site}/{name}", "wb") as stream:
                stream.write(content)
            world.own(f"{world.site}/{name}")
        world.run(["pkcs11-tool", "--module", pkcs11.proxy(), "--token-label", "coffer", "--sign", "--id",
                   made["id-" + alias], "--mechanism", mechanism, *options, "--input-file", f"{world.site}/data", "--output-file",
                   f"{world.site}/signature"])
        world.write(f"{world.site}/public", public_pem(world, alias).decode())
        words = [word for option in prepared for word in ("-pkeyopt", option)]
        world.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", f"{world.site}/public", "-in",
                   f"{world.site}/digest", "-sigfile", f"{world.site}/signature", *words])
    for alias in ("p256", "rsa"):
        done = world.run(["p11tool", "--test-sign", f"{NAME}{alias};type=private"])
        check(b"ok" in done.stdout + done.stderr, f"{alias}: {done}")


def signed(client):
    session, digest, lines = client.session(), hashlib.sha256(b"text").digest(), []
    keys = {alias: client.private(session, alias) for alias in ("p256", "p384", "ed25519", "rsa")}

    def made(name, alias, kind, data, parameter=b""):
        code, signature = client.sign(session, kind, keys[alias], data, parameter)
        assert code == OK, f"{name}: {code:#x}"
        lines.append(f"{name} {signature.hex()}")

    def refused(code, alias, kind, data, parameter=b""):
        got = client.sign(session, kind, keys[alias], data, parameter)[0]
        assert got == code, f"{alias} {kind:#x} {len(data)}: {got:#x}, not {code:#x}"

    # pkcs11-tool finds private keys by their ids alone.
    for alias, key in keys.items():
        lines.append(f"id-{alias} {client.attribute(session, key, 0x102)[1].hex()}")
    made("p256", "p256", ECDSA, digest)
    made("p384", "p384", ECDSA, digest)
    made("rsa", "rsa", RSA_PKCS, INFO + digest)
    made("pss", "rsa", RSA_PSS, digest, pss())
    code, signature = client.sign(session, EDDSA, keys["ed25519"], b"text")
    # p11-kit 0.24 does not pass this mechanism on.
    if code == OK:
        lines.append(f"ed25519 {signature.hex()}")
    else:
        assert code == MECHANISM, f"{code:#x}"
    for data in (b"", b"x" * 20, b"x" * 33, b"x" * 65):
        refused(LENGTH, "p256", ECDSA, data)
    sha1 = bytes.fromhex("3021300906052b0e03021a05000414")
    for data in (b"", digest, sha1 + b"x" * 20, INFO + digest + b"x", INFO + digest[1:], b"x" * 36):
        refused(DATA, "rsa", RSA_PKCS, data)
    refused(LENGTH, "rsa", RSA_PSS, digest[1:], pss())
    for parameter in (pss(0x220, 1, 20), pss(0x250, 3, 32), pss(0x250, 2, 20)):
        refused(PARAMETER, "rsa", RSA_PSS, digest, parameter)
    refused(KEY_TYPE, "rsa", ECDSA, digest)
    refused(KEY_TYPE, "p256", RSA_PKCS, INFO + digest)
    # SHA-1 with RSA: no mechanism
    refused(MECHANISM, "rsa", 0x06, digest)
    for kind in (0x11, 0x123, 0x124, 0x128):
        code, value = client.attribute(session, keys["rsa"], kind)
        assert code == SENSITIVE and value is None, f"{kind:#x}: {code:#x}"
    for kind, expected in ((0x103, 1), (0x162, 0), (0x108, 1), (0x105, 0)):
        assert client.attribute(session, keys["rsa"], kind) == (OK, bytes([expected])), f"{kind:#x}"
    return "\n".join(lines)


def refusals(coffer):
    """Wrong handles, orders and sizes have their numbers, and the module goes on."""
    world = World(coffer, passcode=False)
    try:
        world("key", "generate", "work", "--algorithm", "p256", "--use", "sign")
        apart(world, refused)
    finally:
        world.close()


def refused(client):
    session, digest = client.session(), b"x" * 32
    key = client.private(session, "work")
    public = client.find(session, (0, PUBLIC))[0]
    assert client.find(session, (0, CERTIFICATE)) == []
    assert client.find(session, (3, b"wor")) == client.find(session, (3, b"x" * 100_000)) == []
    # A search for the value of a private key tells nothing of it.
    assert client.find(session, (0, PRIVATE), (0x11, b"")) == []
    for item in (0, 1 << 40, (1 << 64) - 1):
        assert client.attribute(session, item, 3)[0] == OBJECT_HANDLE
        assert client.begin(session, ECDSA, item) == KEY_HANDLE
        assert client.attribute(item, key, 3)[0] == SESSION_HANDLE
    assert client.begin(session, ECDSA, public) == KEY_HANDLE
    assert client.attribute(session, key, 3, size=2)[0] == TOO_SMALL
    assert client.attribute(session, key, 3) == (OK, b"work")
    assert client.finish(session, digest)[0] == NOT_BEGUN
    assert client.begin(session, ECDSA, key) == OK
    assert client.begin(session, ECDSA, key) == ACTIVE
    # Too small a place leaves the operation begun; a failure ends it.
    assert client.finish(session, digest, room=10)[0] == TOO_SMALL
    assert client.finish(session, digest)[0] == OK
    assert client.finish(session, digest)[0] == NOT_BEGUN
    assert client.sign(session, ECDSA, key, b"x" * 200_000)[0] == LENGTH
    assert client.sign(session, ECDSA, key, digest)[0] == OK
    for name in ("DigestInit", "VerifyInit", "DecryptInit"):
        place = pkcs11.Mechanism(ECDSA, None, 0)
        arguments = (session, pkcs11.ctypes.byref(place)) + (() if name == "DigestInit" else (key,))
        code = client.call(name, *arguments)
        assert code in (UNSUPPORTED, MECHANISM), f"{name}: {code:#x}"
    client.expect(UNSUPPORTED, "DestroyObject", session, key)
    place = pkcs11.ctypes.create_string_buffer(64)
    client.expect(OK, "GenerateRandom", session, place, 64)
    assert place.raw != bytes(64)
    client.expect(OK, "Login", session, 1, None, 0)
    client.expect(OK, "Logout", session)
    sessions, code = [], OK
    while code == OK and len(sessions) < 2000:
        handle = pkcs11.number()
        code = client.call("OpenSession", client.slot, 4, None, None, pkcs11.ctypes.byref(handle))
        sessions.append(handle.value)
    assert code == SESSION_COUNT, f"{code:#x} after {len(sessions)} sessions"
    client.expect(OK, "CloseAllSessions", client.slot)
    assert client.sign(client.session(), ECDSA, key, digest)[0] == OK


def changes(coffer):
    """A lock, a removal and a wipe between search and signature refuse it; confirmation and uses are kept."""
    world = World(coffer)
    try:
        for alias, options in (("work", []), ("gone", []), ("asked", ["--confirm"])):
            world("key", "generate", alias, "--algorithm", "p256", "--use", "sign", *options)
        asking = os.path.join(world.home, "ask")
        world.write(asking, f"#!/bin/sh\necho \"$1\" >>{world.home}/questions\ntest -e {world.home}/yes\n")
        os.chmod(asking, 0o755)
        world.environment["SSH_ASKPASS"] = asking
        apart(world, lambda client: changed(client, world))
        told = pkcs11.errors(world)
        for reason in ("vault is locked", "coffer unlock", "not confirmed", "no longer has"):
            check(reason in told, f"the reason is not told: {reason}: {told}")
        questions = world.read(f"{world.home}/questions").decode()
        check(questions.count("asked") == 2 and "work" not in questions, questions)
    finally:
        world.close()


def changed(client, world):
    # The commands run as the client's own user here.
    world.user = None
    session, digest = client.session(), b"x" * 32
    work, gone, asked = (client.private(session, alias) for alias in ("work", "gone", "asked"))

    def sign(key):
        return client.sign(session, ECDSA, key, digest)[0]

    assert sign(work) == sign(gone) == OK
    assert sign(asked) == REJECTED
    open(f"{world.home}/yes", "w").close()
    assert sign(asked) == OK
    world("key", "remove", "gone")
    code = sign(gone)
    assert code == KEY_HANDLE, f"removed: {code:#x}"
    # Begun before the lock, signed after it
    assert client.begin(session, ECDSA, work) == OK
    world.lock()
    assert client.finish(session, digest)[0] == NOT_LOGGED_IN
    assert sign(work) == NOT_LOGGED_IN
    client.expect(NOT_LOGGED_IN, "Login", session, 1, None, 0)
    world.unlock()
    assert sign(work) == OK
    world("wipe", "--yes")
    code = sign(work)
    assert code == REMOVED, f"wiped: {code:#x}"


def install(coffer):
    """The file names this program and vault; one with other content stays as it is."""
    world = World(coffer, passcode=False)
    try:
        path = os.path.join(world.home, ".config/pkcs11/modules/coffer.module")
        text = world.read(path).decode()
        check(f'"{os.path.realpath(coffer)}" "pkcs11" "serve"' in text, text)
        check(world.environment["COFFER_HOME"] in text, text)
        check(world("pkcs11", "install").stdout.decode() == path + "\n", "it does not say what it wrote")
        world.write(path, "module: other.so\n")
        done = world("pkcs11", "install", expected=13)
        check(b"--replace" in done.stderr and world.read(path) == b"module: other.so\n", f"{done.stderr!r}")
        world("pkcs11", "install", "--replace")
        check(world.read(path).decode() == text, "not replaced")
        check(os.listdir(os.path.dirname(path)) == ["coffer.module"], "other files are left")
        done = world("pkcs11", "install", "--home", "a\"b", expected=None)
        check(done.returncode != 0, "a path that p11-kit cannot read")
        # Options of the service, and a vault that is not there
        world("pkcs11", "install", "--replace", "--allow-prompt")
        check(world.read(path).decode() == text.rstrip("\n") + ' "--allow-prompt"\n', "not passed on")
        done = world("pkcs11", "install", "--replace", "--home", f"{world.home}/none")
        check(b"no vault" in done.stderr and b"coffer init" in done.stderr, f"nothing is said: {done.stderr!r}")
        check(not os.path.exists(f"{world.home}/none"), "an installation made a vault")
        # A home with a space
        world("pkcs11", "install", "--replace", "--home", os.path.join(world.home, "a vault"))
        world("init", "--keyring", "file", "--no-passcode", "--policy", "none", "--home",
              os.path.join(world.home, "a vault"))
        world("key", "generate", "far", "--use", "sign", "--home", os.path.join(world.home, "a vault"))
        text = world.run(["p11tool", "--list-all", "pkcs11:token=coffer"]).stdout
        check(b"object=far" in text, f"{text!r}")
    finally:
        world.close()


def forks(coffer):
    """A child of the client's process does not share the parent's session, and the parent goes on."""
    world = World(coffer, passcode=False)
    try:
        world("key", "generate", "work", "--algorithm", "p256", "--use", "sign")
        apart(world, forked)
    finally:
        world.close()


def forked(client):
    session, digest = client.session(), b"x" * 32
    key = client.private(session, "work")
    assert client.sign(session, ECDSA, key, digest)[0] == OK
    # Begun by the parent, and for the parent alone
    assert client.begin(session, ECDSA, key) == OK
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert client.finish(session, digest)[0] == NOT_INITIALIZED
            assert client.sign(session, ECDSA, key, digest)[0] == NOT_INITIALIZED
            own = pkcs11.Client()
            fresh = own.session()
            assert own.sign(fresh, ECDSA, own.private(fresh, "work"), digest)[0] == OK
            code = 0
        except AssertionError as error:
            os.write(2, f"the child: {error}".encode() + traceback.format_exc().encode())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0, "the child: see the errors"
    assert client.finish(session, digest)[0] == OK
    assert client.sign(session, ECDSA, key, digest)[0] == OK


def missing(coffer):
    """Without the program, its companion or the vault, other tokens are served, and the reason is told."""
    world = World(coffer, passcode=False)
    try:
        world("key", "generate", "work", "--algorithm", "p256", "--use", "sign")
        module = os.path.join(world.home, ".config/pkcs11/modules/coffer.module")
        text = world.read(module).decode()

        def listed(reason):
            done = world.run(["p11tool", "--list-tokens"], expected=None)
            check(b"System" in done.stdout, f"{reason}: other tokens are not listed: {done}")
            alone = world.run(["p11tool", "--list-all", "pkcs11:token=coffer"], expected=None)
            check(b"object=work" not in alone.stdout, f"{reason}: {alone}")
            return done.stderr + alone.stderr

        check(b"object=work" in world.run(["p11tool", "--list-all", "pkcs11:token=coffer"]).stdout, "nothing is listed")
        world.write(module, text.replace(os.path.realpath(coffer), f"{world.home}/nothing/coffer"))
        listed("no program")
        # The command without its companion
        folder = os.path.join(world.home, "alone")
        os.mkdir(folder)
        world.own(folder)
        shutil.copy(os.path.realpath(coffer), folder)
        os.chmod(folder, 0o755)
        alone = os.path.join(folder, "coffer")
        done = world.run([alone, "pkcs11", "serve"], expected=None)
        check(done.returncode != 0 and b"coffer-pkcs11 is not in the directory" in done.stderr, f"{done}")
        done = world.run([alone, "pkcs11", "install", "--replace"], expected=None)
        check(done.returncode != 0 and b"coffer-pkcs11" in done.stderr, f"installed without its companion: {done}")
        check(alone not in world.read(module).decode(), "a module that cannot start is installed")
        world.write(module, text.replace(os.path.realpath(coffer), alone))
        check(b"coffer-pkcs11 is not in the directory" in listed("no companion"), "the reason is not told")
        # No vault: the token is there and empty.
        world.write(module, text.replace(world.environment["COFFER_HOME"], f"{world.home}/none"))
        listed("no vault")
        check(not os.path.exists(f"{world.home}/none"), "a listing made a vault")
        world.write(module, text)
        check(b"object=work" in world.run(["p11tool", "--list-all", "pkcs11:token=coffer"]).stdout, "not listed again")
        # Not started by p11-kit: a client that says nothing of the protocol gets no more than a version.
        done = world.run([coffer, "pkcs11", "serve"], b"hello\n", expected=None)
        check(done.returncode >= 0 and done.stdout in (b"", b"\0"), f"{done}")
    finally:
        world.close()


SCENARIOS = [listing, tls, signatures, refusals, changes, lasting, rotated, damaged, install, forks, threads, ends,
             missing, hostile, misuse, layout, residue]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--coffer", required=True)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    names = [name for name in arguments.only.split(",") if name]
    failed = False
    for scenario in SCENARIOS:
        if names and scenario.__name__ not in names:
            continue
        try:
            scenario(os.path.abspath(arguments.coffer))
            print(f"{scenario.__name__} ok", flush=True)
        except Exception as error:
            failed = True
            reason = str(error) if isinstance(error, (Failed, AssertionError)) else traceback.format_exc()
            print(f"{scenario.__name__} FAILED: {reason or traceback.format_exc()}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
