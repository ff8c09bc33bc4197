"""The memory of the module between signatures."""

import os

from cryptography.hazmat.primitives import serialization

from boundary import children
from client import ECDSA, OK, RSA_PKCS, apart
from world import World, check

INFO = bytes.fromhex("3031300d060960864801650304020105000420")


def residue(coffer):
    """After signatures, no eight bytes of a private key are in the module's memory; the public keys are. Needs root."""
    if os.getuid() != 0:
        # The module is not dumpable, so nobody else reads its memory.
        return
    world = World(coffer, passcode=False)
    try:
        secrets, controls = {}, {}
        for alias, options in (("rsa", ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
                               ("ec", ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])):
            pem = world.run(["openssl", "genpkey", *options]).stdout
            world("key", "import", alias, "--use", "sign", data=pem)
            own, public = numbers(serialization.load_pem_private_key(pem, None).private_numbers())
            secrets.update({f"{alias} {name}": value for name, value in own.items()})
            controls[alias] = public
        found = scanned(world, {**secrets, **controls}).split("\n")
        check(set(controls) <= set(found), f"the search is blind: {found}")
        check(not set(secrets) & set(found), f"left: {found}")
    finally:
        world.close()


def numbers(key):
    """The private numbers of a key, and its public one, as bytes."""
    names = ("d", "p", "q", "dmp1", "dmq1", "iqmp") if hasattr(key, "d") else ("private_value",)
    own = {name: getattr(key, name) for name in names}
    public = key.public_numbers.n if hasattr(key, "d") else key.public_numbers.x
    return ({name: raw(value) for name, value in own.items()}, raw(public))


def raw(value):
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def scanned(world, parts):
    """The names of the parts that the module's memory contains after signatures, one a line."""
    asked, ask = os.pipe()
    told, tell = os.pipe()
    scanner = os.fork()
    if scanner == 0:
        try:
            os.close(ask)
            process = int(os.read(asked, 32))
            os.write(tell, "\n".join(sorted(left(process, parts))).encode())
        finally:
            os._exit(0)
    os.close(tell)
    os.close(asked)
    try:
        return apart(world, lambda client: signed(client, ask, told))
    finally:
        os.close(ask)
        os.close(told)
        os.waitpid(scanner, 0)


def signed(client, ask, told):
    session = client.session()
    for _ in range(3):
        for alias, kind, data in (("rsa", RSA_PKCS, INFO + b"x" * 32), ("ec", ECDSA, b"x" * 32)):
            assert client.sign(session, kind, client.private(session, alias), data)[0] == OK
    servers = children(os.getpid())
    assert len(servers) == 1, f"not one module: {servers}"
    os.write(ask, f"{servers[0]}\n".encode())
    text = b""
    while part := os.read(told, 65536):
        text += part
    return text.decode()


def left(process, parts):
    """The names of the parts of which eight bytes are in the writable memory of a process, in either order."""
    found = set()
    with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as maps, \
            open(f"/proc/{process}/mem", "rb", 0) as memory:
        for line in maps:
            place, permissions = line.split()[:2]
            if not permissions.startswith("rw"):
                continue
            start, end = (int(part, 16) for part in place.split("-"))
            try:
                memory.seek(start)
                content = memory.read(end - start)
            except OSError:
                continue
            for name, value in parts.items():
                for turned in (value, value[::-1]):
                    if any(turned[at:at + 8] in content for at in range(0, len(turned) - 7, 8)):
                        found.add(name)
    return found
