"""Vaults that change while a client has found keys: locked, rotated, damaged and replaced."""

import os

from client import ECDSA, KEY_HANDLE, NOT_LOGGED_IN, OK, PRIVATE, apart, errors, proxy
from world import World, check

FAILED = 0x06
NAME = "pkcs11:token=coffer;object="
DIGEST = b"x" * 32


def lasting(coffer):
    """While the vault is locked, a key of a class that outlasts a lock signs, also for clients that log in first."""
    world = World(coffer)
    try:
        for alias, kind in (("work", "whenUnlocked"), ("after", "afterFirstUnlock")):
            world("key", "generate", alias, "--algorithm", "p256", "--use", "sign", "--class", kind)
        world.write(f"{world.home}/message", "text")
        world.lock()
        for alias, expected in (("after", True), ("work", False)):
            key = f"{NAME}{alias};type=private"
            # GnuTLS logs in before it signs.
            done = world.run(["p11tool", "--test-sign", key], expected=None)
            check((done.returncode == 0) == expected, f"p11tool, {alias}: {done}")
            check(expected or b"vault is locked" in done.stderr, f"why: {done}")
            done = world.run(["openssl", "dgst", "-sha256", "-engine", "pkcs11", "-keyform", "engine", "-sign", key,
                              f"{world.home}/message"], expected=None, extra={"PKCS11_MODULE_PATH": proxy()})
            check((done.returncode == 0) == expected, f"openssl, {alias}: {done}")
        world.unlock()
        world("key", "remove", "after")
        world.lock()
        apart(world, alone)
    finally:
        world.close()


def alone(client):
    # No key could be used, so no client is told that it logged in.
    client.expect(NOT_LOGGED_IN, "Login", client.session(), 1, None, 0)


def rotated(coffer):
    """A rotation between search and signature: the former key goes on until the next search, or until it is retired."""
    world = World(coffer, passcode=False)
    try:
        world("key", "generate", "work", "--algorithm", "p256", "--use", "tls-client")
        world.authority()
        world.certify("work")
        apart(world, lambda client: rotation(client, world))
    finally:
        world.close()


def rotation(client, world):
    # The commands run as the client's own user here.
    world.user = None
    session = client.session()
    former = client.private(session, "work")

    def sign(key):
        return client.sign(session, ECDSA, key, DIGEST)[0]

    world("key", "rotate", "work")
    # The new one has no certificate yet, and no program sees it.
    assert client.find(session, (0, PRIVATE)) == [former] and sign(former) == OK
    world("key", "self-signed", "work", "--common-name", "ada")
    assert sign(former) == OK
    found = client.find(session, (0, PRIVATE))
    assert len(found) == 1 and found != [former], found
    assert sign(former) == KEY_HANDLE and sign(found[0]) == OK
    world("key", "rotate", "work")
    world("key", "self-signed", "work", "--common-name", "ada")
    assert sign(found[0]) == OK
    world("key", "rotate", "work", "--retire")
    code = sign(found[0])
    assert code != OK, "a retired key signs"


def damaged(coffer):
    """A damaged file of key pairs, or another vault in its place, refuses what was found before; then it goes on."""
    world = World(coffer, passcode=False)
    try:
        world("key", "generate", "work", "--algorithm", "p256", "--use", "sign")
        apart(world, lambda client: damage(client, world))
        told = errors(world)
        check("key pairs is damaged" in told and "no longer has the key pair" in told, told)
    finally:
        world.close()


def damage(client, world):
    world.user = None
    session = client.session()
    key = client.private(session, "work")
    vault = world.environment["COFFER_HOME"]
    path = os.path.join(vault, "vault/keypairs")
    whole = world.read(path)
    middle = len(whole) // 2
    for content in (b"", whole[:middle], whole + b"x", whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:],
                    whole + bytes(1 << 24)):
        with open(path, "wb") as stream:
            stream.write(content)
        assert client.sign(session, ECDSA, key, DIGEST)[0] == FAILED
        client.expect(FAILED, "FindObjectsInit", session, None, 0)
    with open(path, "wb") as stream:
        stream.write(whole)
    assert client.sign(session, ECDSA, key, DIGEST)[0] == OK
    # Another vault with a key of the same name
    os.rename(vault, vault + ".old")
    world("init", "--keyring", "file", "--no-passcode", "--policy", "none")
    world("key", "generate", "work", "--algorithm", "p256", "--use", "sign")
    assert client.sign(session, ECDSA, key, DIGEST)[0] == KEY_HANDLE
    other = client.private(session, "work")
    assert other != key and client.sign(session, ECDSA, other, DIGEST)[0] == OK
