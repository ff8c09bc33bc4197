#!/usr/bin/env python3
"""Tries `coffer key import`, `export` and `rotate` with the files of other programs.

    key_files.py --coffer PATH [--only NAME,…]

Like certificates.py, whose vaults it uses. Needs openssl, certtool, NSS's pk12util and certutil, ssh-add and Python's
cryptography. A writer of PKCS #12 of its own makes the files that no program writes.
"""

import hashlib
import hmac
import json
import os
import sys

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from certificates import CONFLICT, EXISTS, LOCKED, OK, PASSCODE, REFUSED, USAGE, World, check, der, run

OTHER, NOT_AUTHENTIC = 1, 7
SECRET = "secret of the file"
STRANGE = "pässwörd €𝄞 of it"
KINDS = {"ed25519": ["-algorithm", "ed25519"], "p256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
         "p384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
         "rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]}


class Files(World):
    """A vault, and the files of other programs."""

    def given(self, *arguments, passphrase=SECRET, expected=OK, data=b"", environment=None):
        """Runs a command that reads a file's passphrase."""
        read, write = os.pipe()
        os.write(write, passphrase.encode() + b"\n")
        os.close(write)
        former = dict(self.environment)
        self.environment.update(environment or {})
        try:
            return self.run([self.coffer, *arguments, "--passphrase-fd", str(read)], data, expected, [read])
        finally:
            self.environment = former
            os.close(read)

    def import_(self, alias, path, *options, **rest):
        return self.given("key", "import", alias, path, *options, **rest)

    def refuses(self, path, expected, text="", **rest):
        """An import is refused, says why, and stores nothing."""
        before = self.aliases()
        done = self.import_("refused", path, expected=expected, **rest)
        check(text in done.stderr.decode(), f"{path}: {done.stderr!r} does not say {text!r}")
        check(self.aliases() == before, f"{path}: something was stored")

    def aliases(self):
        return sorted(entry["alias"] for entry in self.json("key", "list")["keyPairs"])

    def signs(self, alias):
        """The key pair signs, and openssl verifies it with its public key."""
        signature = self("key", "sign", alias, data=b"message").stdout.decode().strip()
        self("key", "verify", alias, "--signature", signature, data=b"message")

    def key(self, name, kind="p256"):
        path = os.path.join(self.path, name + ".key")
        self.openssl("genpkey", *KINDS[kind], "-out", path)
        return path

    def leaf(self, name, key, issuer="root"):
        request = self.openssl("req", "-new", "-key", key, "-subj", "/CN=" + name)
        return self.file(name + ".pem", self.sign(request, issuer))

    def pkcs12(self, name, key, leaf, *options, passphrase=SECRET):
        path = os.path.join(self.path, name + ".p12")
        self.openssl("pkcs12", "-export", "-inkey", key, "-in", leaf, "-name", name, "-out", path, "-passout",
                     "pass:" + passphrase, *options)
        return path

    def public(self, key):
        return self.openssl("pkey", "-in", key, "-pubout").decode()

    def is_same(self, alias, key):
        printed = self("key", "public", alias, "--form", "pem").stdout.decode()
        check(printed == self.public(key), f"{alias} is another key than in the file")
        self.signs(alias)


def element(tag, content):
    size = len(content)
    head = bytes([size]) if size < 0x80 else (lambda digits: bytes([0x80 | len(digits)]) + digits)(
        size.to_bytes((size.bit_length() + 7) // 8, "big"))
    return bytes([tag]) + head + content


def sequence(*parts):
    return element(0x30, b"".join(parts))


def number(value):
    return element(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def oid(text):
    first, second, *rest = map(int, text.split("."))
    content = bytes([first * 40 + second])
    for arc in rest:
        digits = [arc & 0x7F]
        while arc := arc >> 7:
            digits.insert(0, arc & 0x7F | 0x80)
        content += bytes(digits)
    return element(6, content)


def derived(passphrase, salt, rounds, purpose, count):
    """Appendix B of RFC 7292 with SHA-1."""
    def filled(text):
        return (text * (64 // max(len(text), 1) + 1))[:(len(text) + 63) // 64 * 64] if len(text) <= 64 else (
            text * 2)[:(len(text) + 63) // 64 * 64]
    wide = filled(passphrase.encode("utf-16-be") + b"\0\0")
    block, found = filled(salt) + wide, b""
    while len(found) < count:
        part = bytes([purpose]) * 64 + block
        for _ in range(rounds):
            part = hashlib.sha1(part).digest()
        found += part
        add = int.from_bytes((part * 4)[:64], "big") + 1
        block = b"".join(((int.from_bytes(block[at:at + 64], "big") + add) % (1 << 512)).to_bytes(64, "big")
                         for at in range(0, len(block), 64))
    return found[:count]


def made(bags, passphrase=SECRET, rounds=10):
    """A PKCS #12 file with these bags, which are not encrypted, and a checksum."""
    data = oid("1.2.840.113549.1.7.1")
    parts = sequence(data, element(0xA0, element(4, sequence(*bags))))
    safe, salt = sequence(parts), b"saltsalt"
    key = derived(passphrase, salt, min(rounds, 1000), 3, 20)
    tag = hmac.new(key, safe, "sha1").digest()
    mac = sequence(sequence(sequence(oid("1.3.14.3.2.26"), element(5, b"")), element(4, tag)), element(4, salt),
                   number(rounds))
    return sequence(number(3), sequence(data, element(0xA0, element(4, safe))), mac)


def bag(kind, value):
    return sequence(oid("1.2.840.113549.1.12.10.1.%d" % kind), element(0xA0, value))


def certificate_bag(certificate):
    return bag(3, sequence(oid("1.2.840.113549.1.9.22.1"), element(0xA0, element(4, certificate))))


def plain(key):
    return key.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())


def producers(world):
    """PKCS #12 of openssl in both generations, certtool, NSS and Python is imported with its chain."""
    root = world.authority("root")
    root_path = os.path.join(world.path, "root.pem")
    for kind in KINDS:
        key = world.key(kind, kind)
        leaf = world.leaf("leaf-" + kind, key)
        with open(leaf, "rb") as stream:
            expected = stream.read()
        for name, options in (("new", []), ("legacy", ["-legacy"]), ("bare", ["-keypbe", "NONE", "-certpbe", "NONE"]),
                              ("rc2", ["-legacy", "-certpbe", "PBE-SHA1-RC2-128", "-keypbe", "PBE-SHA1-RC2-40"]),
                              ("aes-192", ["-keypbe", "AES-192-CBC", "-certpbe", "AES-128-CBC", "-macalg", "sha512"])):
            path = world.pkcs12(f"{kind}-{name}", key, leaf, "-certfile", root_path, *options)
            world.import_(name, path, "--pkcs12")
            world.is_same(name, key)
            check(world("key", "public", name, "--form", "certificate").stdout == expected + root, "another chain")
            check(world.certificate(name)["state"] == "usable", "the certificate is not usable")
            world("key", "remove", name)
        for passphrase in (STRANGE, ""):
            world.import_("strange", world.pkcs12("strange", key, leaf, passphrase=passphrase), passphrase=passphrase)
            world("key", "remove", "strange")
        for name, options in (("certtool", []), ("certtool-3des", ["--pkcs-cipher", "3des-pkcs12"]),
                              ("certtool-rc2", ["--pkcs-cipher", "rc2-40"])):
            path = os.path.join(world.path, name + ".p12")
            world.run(["certtool", "--to-p12", "--outder", "--load-privkey", key, "--load-certificate", leaf,
                       "--p12-name", name, "--password", SECRET, "--outfile", path, *options])
            world.import_(name, path)
            world.is_same(name, key)
            world("key", "remove", name)
        python(world, kind, key, leaf, root_path)
        if kind != "ed25519":
            nss(world, kind, key, leaf)


def python(world, kind, key, leaf, root):
    with open(key, "rb") as stream:
        private = serialization.load_pem_private_key(stream.read(), None)
    from cryptography import x509
    with open(leaf, "rb") as stream:
        certificate = x509.load_pem_x509_certificate(stream.read())
    with open(root, "rb") as stream:
        above = x509.load_pem_x509_certificate(stream.read())
    old = serialization.PrivateFormat.PKCS12.encryption_builder().kdf_rounds(3000).key_cert_algorithm(
        pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC).hmac_hash(hashes.SHA1()).build(SECRET.encode())
    for name, encryption in (("python", serialization.BestAvailableEncryption(SECRET.encode())), ("python-old", old)):
        path = world.file(name + ".p12", pkcs12.serialize_key_and_certificates(b"name", private, certificate, [above],
                                                                               encryption))
        world.import_(name, path)
        world.is_same(name, key)
        world("key", "remove", name)


def nss(world, kind, key, leaf):
    """NSS imports a file of openssl's and writes one of its own, in BER."""
    database = os.path.join(world.path, "nss-" + kind)
    os.mkdir(database)
    empty = world.file("empty", b"\n")
    secret = world.file("nss-secret", SECRET.encode() + b"\n")
    world.run(["certutil", "-N", "-d", database, "-f", empty])
    world.run(["pk12util", "-i", world.pkcs12("for-nss", key, leaf), "-d", database, "-w", secret, "-k", empty])
    for number_, options in enumerate(([], ["-c", "PKCS #12 V2 PBE With SHA-1 And 3KEY Triple DES-CBC", "-C",
                                            "PKCS #12 V2 PBE With SHA-1 And 40 Bit RC2 CBC"])):
        path = os.path.join(world.path, f"nss-{kind}-{number_}.p12")
        world.run(["pk12util", "-o", path, "-n", "for-nss", "-d", database, "-w", secret, "-k", empty, *options])
        world.import_("nss", path)
        world.is_same("nss", key)
        world("key", "remove", "nss")


def pem(world):
    """PKCS #8 in PEM and DER, encrypted or not, with certificates beside it; other forms are refused with a reason."""
    root = world.authority("root")
    for kind in KINDS:
        key = world.key(kind, kind)
        leaf = world.leaf("leaf-" + kind, key)
        with open(key, "rb") as stream:
            bare = stream.read()
        with open(leaf, "rb") as stream:
            certificate = stream.read()
        encrypted = world.openssl("pkcs8", "-topk8", "-in", key, "-passout", "pass:" + SECRET)
        old = world.openssl("pkcs8", "-topk8", "-in", key, "-passout", "pass:" + SECRET, "-v1", "PBE-SHA1-3DES")
        binary = world.openssl("pkcs8", "-topk8", "-in", key, "-passout", "pass:" + SECRET, "-outform", "DER")
        for content in (bare, encrypted, old, binary, b"Text\n" + bare.replace(b"\n", b"\r\n") + b"more\n"):
            world.import_("one", world.file("one.pem", content))
            world.is_same("one", key)
            check(world.certificate("one") is None, "a certificate out of nowhere")
            world("key", "remove", "one")
        world("key", "import", "two", data=bare + root + certificate)
        check(world("key", "public", "two", "--form", "certificate").stdout == certificate + root, "another order")
        world("key", "remove", "two")
        world.refuses(world.file("wrong.pem", encrypted), NOT_AUTHENTIC, "passphrase", passphrase="another")
        for cut in range(0, len(encrypted), 97):
            world.refuses(world.file("cut.pem", encrypted[:cut]), USAGE)
    traditional = world.openssl("rsa", "-in", os.path.join(world.path, "rsa.key"), "-traditional")
    world.refuses(world.file("old.pem", traditional), OTHER, "openssl pkcs8 -topk8")
    for content in (bare + bare, encrypted + encrypted):
        world.refuses(world.file("two.pem", content), OTHER, "more than one private key")
    world.refuses(world.file("certificate.pem", certificate), USAGE, "no private key")
    path = world.pkcs12("form", key, leaf)
    world.import_("form", path, "--pem", expected=USAGE)
    world.import_("form", world.file("bare.pem", bare), "--pkcs12", expected=USAGE)
    world("key", "import", "form", "--pem", "--pkcs12", expected=USAGE)
    # A file without a passphrase asks for none; with one, and without a terminal, it says how to give it.
    done = world("key", "import", "form", path, expected=USAGE)
    check(b"--passphrase-fd" in done.stderr, f"{done.stderr!r}")


def refusals(world):
    """Nothing wrong is stored, and nothing expensive is computed."""
    world.authority("root")
    key, other = world.key("key"), world.key("other")
    leaf = world.leaf("leaf", key)
    path = world.pkcs12("good", key, leaf)
    with open(path, "rb") as stream:
        good = stream.read()
    world.refuses(path, NOT_AUTHENTIC, "passphrase", passphrase="another")
    world.refuses(path, NOT_AUTHENTIC, "passphrase", passphrase="")
    for cut in [*range(0, 40), *range(40, len(good), 41)]:
        world.refuses(world.file("cut.p12", good[:cut]), USAGE)
    for place in range(45, len(good) - 100, 61):
        changed = good[:place] + bytes([good[place] ^ 1]) + good[place + 1:]
        done = world.import_("refused", world.file("changed.p12", changed), expected=None)
        check(done.returncode in (OTHER, NOT_AUTHENTIC, REFUSED, USAGE), f"{place}: {done}")
    check(world.aliases() == [], "a changed file was stored")
    world.refuses(world.file("longer.p12", good + b"\0"), USAGE, "after its end")
    world.refuses(world.file("large.p12", good + bytes(65537 - len(good))), USAGE)
    world.refuses(world.file("empty.p12", b""), USAGE)
    costs(world, good)
    legacy = world.pkcs12("legacy", key, leaf, "-legacy")
    missing = {"OPENSSL_MODULES": world.path}
    world.refuses(legacy, OTHER, "RC2", environment=missing)
    world.refuses(legacy, OTHER, "export the key again with AES", environment=missing)
    world.import_("new", path, environment=missing)
    world("key", "remove", "new")
    contents(world, leaf, other)
    world.import_("kept", path)
    world.import_("kept", world.pkcs12("second", other, world.leaf("second", other)), expected=EXISTS)
    world.import_("again", path, expected=EXISTS)
    check(world.aliases() == ["kept"], "a duplicate was stored")


def costs(world, good):
    """A thousand million rounds are refused at once, wherever they are."""
    check(good[-4:] == bytes([2, 2, 8, 0]), "openssl has other rounds")
    size = int.from_bytes(good[2:4], "big")
    mac = good.rfind(bytes([0x30, 0x41, 0x30, 0x31]))
    check(mac > 0, "openssl's checksum has another form")
    huge = (good[:2] + (size + 2).to_bytes(2, "big") + good[4:mac] + bytes([0x30, 0x43]) + good[mac + 2:-4]
            + number(10**9))
    world.refuses(world.file("huge.p12", huge), REFUSED, "10 million")
    private = ec.generate_private_key(ec.SECP256R1())
    for rounds in (10**7 + 1, 10**9, 2**31, 2**64):
        world.refuses(world.file("huge.p12", made([bag(1, plain(private))], rounds=rounds)), REFUSED, "10 million")
        function = sequence(oid("1.2.840.113549.1.5.12"), sequence(element(4, b"saltsalt"), number(rounds)))
        cipher = sequence(oid("2.16.840.1.101.3.4.1.42"), element(4, bytes(16)))
        encrypted = sequence(sequence(oid("1.2.840.113549.1.5.13"), sequence(function, cipher)),
                             element(4, bytes(160)))
        world.refuses(world.file("huge.der", encrypted), REFUSED, "10 million")
        world.refuses(world.file("huge.p12", made([bag(2, encrypted)])), REFUSED, "10 million")
    world.refuses(world.file("none.p12", made([], rounds=1)), USAGE, "no private key")


def contents(world, leaf, other):
    """What is in the bags decides: two keys, no key, certificates of others, unusable keys."""
    with open(leaf, "rb") as stream:
        certificate = der(stream.read())
    keys = [ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()]
    world.refuses(world.file("two.p12", made([bag(1, plain(key)) for key in keys])), OTHER, "more than one private key")
    world.refuses(world.file("foreign.p12", made([bag(1, plain(keys[0])), certificate_bag(certificate)])), CONFLICT,
                  "none of them")
    world.refuses(world.file("many.p12", made([bag(1, plain(keys[0]))] + [certificate_bag(certificate)] * 9)), OTHER,
                  "more than 8")
    world.refuses(world.file("garbage.p12", made([bag(1, plain(keys[0])), certificate_bag(b"garbage")])), USAGE)
    world.refuses(world.file("weak.p12", made([bag(1, plain(rsa.generate_private_key(65537, 1024)))])), USAGE, "2048")
    for curve in (ec.SECP521R1(), ec.SECP256K1()):
        world.refuses(world.file("p521.p12", made([bag(1, plain(ec.generate_private_key(curve)))])), OTHER,
                      "not supported")
    nested = bag(6, sequence(bag(1, plain(keys[1])), bag(5, sequence(oid("1.2.3"), element(0xA0, element(4, b"x"))))))
    done = world.import_("nested", world.file("nested.p12", made([nested, bag(4, sequence(oid("1.2.3")))])), "--json")
    check(json.loads(done.stdout)["notStored"] == ["secret", "revocation list"], f"{done.stdout!r}")
    world("key", "remove", "nested")
    deep = bag(1, plain(keys[1]))
    for _ in range(30):
        deep = bag(6, sequence(deep))
    world.refuses(world.file("deep.p12", made([deep])), USAGE)
    extra = world.pkcs12("extra", other, world.leaf("own", other), "-certfile", leaf)
    done = world.import_("extra", extra)
    check(b"Not stored: certificate of CN=leaf" in done.stderr, f"{done.stderr!r}")
    world("key", "remove", "extra")


def exports(world):
    """Only what was stored as exportable leaves the vault, and other programs read it."""
    root = world.authority("root")
    world("key", "generate", "fixed")
    world("key", "generate", "out", "--algorithm", "p256", "--exportable", "--use", "sign", "--use", "tls-client")
    leaf = world.sign(world("key", "csr", "out").stdout, "root")
    world("key", "install", "out", data=leaf + root)
    secret = ["-passin", "pass:" + SECRET]
    for form in ("pkcs12", "pem", "pkcs8"):
        done = world.given("key", "export", "fixed", "--form", form, expected=REFUSED)
        check(not done.stdout and b"not exportable" in done.stderr, f"{done}")
        world.given("key", "export", "out", "--form", form, passphrase="too short", expected=REFUSED)
        world.given("key", "export", "out", "--form", form, passphrase="", expected=USAGE)
        world.given("key", "export", "none", "--form", form, expected=3)
    place = os.path.join(world.path, "out.p12")
    world.given("key", "export", "out", "--output", place)
    check(os.stat(place).st_mode & 0o777 == 0o600, "others may read the file")
    world.given("key", "export", "out", "--output", place, expected=EXISTS)
    inside = os.path.join(world.environment["COFFER_HOME"], "vault", "out.p12")
    world.given("key", "export", "out", "--output", inside, expected=REFUSED)
    public = world("key", "public", "out", "--form", "pem").stdout
    text = world.openssl("pkcs12", "-in", place, "-noenc", *secret)
    check(world.openssl("pkey", "-pubout", data=text) == public and text.count(b"BEGIN CERTIFICATE") == 2, "openssl")
    world.openssl("pkcs12", "-in", place, "-noenc", "-passin", "pass:another", expected=1)
    with open(place, "rb") as stream:
        key, certificate, above = pkcs12.load_key_and_certificates(stream.read(), SECRET.encode())
    check(certificate.public_bytes(serialization.Encoding.PEM) == leaf and len(above) == 1, "Python")
    world.run(["certtool", "--p12-info", "--inder", "--infile", place, "--password", SECRET])
    database = os.path.join(world.path, "nss")
    os.mkdir(database)
    empty, file = world.file("empty", b"\n"), world.file("secret", SECRET.encode() + b"\n")
    world.run(["certutil", "-N", "-d", database, "-f", empty])
    world.run(["pk12util", "-i", place, "-d", database, "-w", file, "-k", empty])
    check(b"out" in world.run(["certutil", "-K", "-d", database, "-f", empty]).stdout, "NSS has no key")
    bundle = world.given("key", "export", "out", "--form", "pem").stdout
    check(world.openssl("pkey", "-pubout", *secret, data=bundle) == public and bundle.endswith(leaf + root), "PEM")
    binary = world.given("key", "export", "out", "--form", "pkcs8").stdout
    check(world.openssl("pkcs8", "-inform", "DER", *secret, data=binary).startswith(b"-----BEGIN PRIVATE"), "PKCS #8")
    for kind in ("ed25519", "p384", "rsa"):
        key = world.key(kind, kind)
        world("key", "import", kind, key, "--exportable")
        for form in ("pkcs12", "pem", "pkcs8"):
            written = world.file("again", world.given("key", "export", kind, "--form", form, passphrase=STRANGE).stdout)
            world("key", "rename", kind, "moved")
            world.import_("twice", written, passphrase=STRANGE, expected=EXISTS)
            world("key", "remove", "moved")
            world.import_(kind, written, "--exportable", passphrase=STRANGE)
            world.is_same(kind, key)
    world("key", "import", "device", world.key("device"), "--exportable", "--class", "whenUnlockedThisDeviceOnly",
          expected=USAGE)
    world("key", "import", "asks", world.key("asks"), "--exportable", "--confirm")
    world.given("key", "export", "asks", expected=REFUSED)
    world("key", "import", "imported", world.key("imported"))
    world.given("key", "export", "imported", expected=REFUSED)
    world("reclass", "--key-pairs", "--class", "whenUnlockedThisDeviceOnly")
    world.given("key", "export", "out", expected=REFUSED)


def rotation(world):
    """A new key pair takes over at once, or with its certificate; the old one stays for SSH until it is retired."""
    root = world.authority("root")
    world("key", "generate", "ssh")
    first = world("key", "public", "ssh").stdout.split()[1]
    world("key", "rotate", "ssh")
    second = world("key", "public", "ssh").stdout.split()[1]
    check(first != second, "the key is the old one")
    world("key", "generate", "web", "--algorithm", "p256", "--use", "ssh", "--use", "tls-client", "--use", "sign")
    old = world.sign(world("key", "csr", "web").stdout, "root")
    world("key", "install", "web", data=old + root)
    web = world("key", "public", "web").stdout.split()[1]
    world.environment["XDG_RUNTIME_DIR"] = world.path
    offered = [line.split() for line in world("ssh-agent", "--", "ssh-add", "-L").stdout.splitlines()]
    check([line[1] for line in offered] == [second, web, first], f"the agent offers {offered}")
    check(b" ".join(offered[2][2:]) == b"ssh (generation 1)", f"{offered}")
    world("key", "rotate", "web", "--algorithm", "p384")
    world("key", "rotate", "web", expected=EXISTS)
    check(world("key", "public", "web").stdout.split()[1] == web, "the new key is used without a certificate")
    check(world.certificate("web")["state"] == "usable", "the certificate is gone")
    world.signs("web")
    request = world("key", "csr", "web").stdout
    check(b"384 bit" in world.openssl("req", "-noout", "-text", data=request), "the request is for the old key")
    entries = [(entry["alias"], entry["generation"], entry["role"], entry["exportable"])
               for entry in world.json("key", "list")["keyPairs"]]
    check(entries == [("ssh", 2, "current", False), ("ssh", 1, "former", False), ("web", 2, "next", False),
                      ("web", 1, "current", False)], f"{entries}")
    world("key", "rotate", "web", "--cancel")
    world("key", "install", "web", data=world.sign(request, "root") + root, expected=CONFLICT)
    world("key", "rotate", "web")
    request = world("key", "csr", "web").stdout
    # A renewal for the present key is still taken, and changes nothing else.
    world("key", "install", "web", data=old + root)
    check(world("key", "public", "web").stdout.split()[1] == web, "a renewal changed the key")
    new = world.sign(request, "root")
    world("key", "install", "web", data=new + root)
    check(world("key", "public", "web", "--form", "certificate").stdout == new + root, "not installed")
    check(world("key", "public", "web").stdout.split()[1] != web, "the old key is in use")
    world.signs("web")
    world("key", "install", "web", data=old + root, expected=CONFLICT)
    world("key", "rename", "web", "moved")
    world("rotate")
    world("key", "rotate", "moved", "--retire")
    world("key", "rotate", "ssh", "--retire")
    check(world.aliases() == ["moved", "ssh"], "a former key pair is still there")
    world.signs("moved")
    world("key", "rotate", "ssh")
    world("key", "rotate", "ssh")
    check(world.json("key", "show", "ssh")["generation"] == 4, "another generation")
    world("key", "remove", "ssh")
    check(world.aliases() == ["moved"], "a generation is left")
    world("key", "import", "rsa", world.key("rsa", "rsa"))
    world("key", "rotate", "rsa", expected=OTHER)
    world("key", "rotate", "rsa", "--algorithm", "ed25519")
    world("key", "rotate", "none", expected=3)
    world("key", "rotate", "none", "--retire", expected=3)


def locked(world):
    """A locked vault imports, exports and rotates nothing, and destroys a former key pair."""
    world("key", "generate", "out", "--exportable")
    world("key", "rotate", "out")
    world.passcode = False
    world("lock")
    key = world.key("key")
    world("key", "import", "in", key, expected=LOCKED)
    world.given("key", "export", "out", expected=LOCKED)
    world("key", "rotate", "out", expected=LOCKED)
    check(world.aliases() == ["out", "out"], "not listed while locked")
    world.passcode = True
    world("key", "rotate", "out", "--retire")
    world("key", "import", "in", key)
    world.signs("in")
    check(world.aliases() == ["in", "out"], "not retired")


def spellings(world):
    """Files as people and editors write them, and the order of what is read on standard input."""
    root = world.authority("root")
    key = world.key("key")
    leaf = world.leaf("leaf", key)
    with open(key, "rb") as stream:
        bare = stream.read()
    with open(leaf, "rb") as stream:
        certificate = stream.read()
    for content in (b"\xef\xbb\xbf" + certificate + root + bare, b"0 a key\n" + bare + certificate + root,
                    (certificate + root + bare).replace(b"\n", b" \t\n")):
        world.import_("one", world.file("one.pem", content))
        check(world("key", "public", "one", "--form", "certificate").stdout == certificate + root, "a part is missing")
        world("key", "install", "one", data=content.replace(bare, b"").replace(bare.replace(b"\n", b" \t\n"), b""))
        world("key", "remove", "one")
    for options in ([], ["-aes256", "-passout", "pass:" + SECRET]):
        old = world.openssl("rsa", "-in", world.key("rsa", "rsa"), "-traditional", *options)
        world.refuses(world.file("old.pem", old), OTHER, "openssl pkcs8 -topk8")
    old = world.openssl("rsa", "-in", world.key("rsa", "rsa"), "-traditional", "-outform", "DER")
    world.refuses(world.file("old.der", old), OTHER, "openssl pkcs8 -topk8")
    world.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(world.path, "ssh")])
    done = world.import_("refused", os.path.join(world.path, "ssh"), expected=OTHER)
    check(b"SSH keys" in done.stderr and b"openssl" not in done.stderr, f"{done.stderr!r}")
    # A line may end as on Windows: the carriage return is no part of a passphrase.
    world("key", "generate", "out", "--algorithm", "p256", "--exportable", "--use", "tls-client")
    written = world.given("key", "export", "out", "--form", "pem", passphrase=SECRET + "\r").stdout
    world.openssl("pkey", "-passin", "pass:" + SECRET, "-noout", data=written)
    world("key", "rename", "out", "moved")
    world("key", "remove", "moved")
    world.import_("out", world.file("out.pem", written), "--use", "tls-client", passphrase=SECRET + "\r")
    world("key", "csr", "out", "--uri", ":", expected=USAGE)
    comma = world.dated(world("key", "csr", "out").stdout, "root", -1, 100)
    world("key", "install", "out", data=comma)
    request = world("key", "csr", "out", "--uri", "urn:a,DNS:b.example", "--dns", "c.example").stdout
    world("key", "install", "out", data=world.sign(request, "root") + root)
    shown = world("key", "show", "out").stdout.decode()
    check("Names: DNS:c.example, URI:urn:a\\,DNS:b.example\n" in shown, shown)


def inputs(world):
    """The passcode of the vault precedes everything else on standard input."""
    root = world.authority("root")
    world("key", "generate", "a", "--algorithm", "p256", "--use", "tls-client", "--use", "sign")
    leaf = world.sign(world("key", "csr", "a").stdout, "root")
    world("lock")
    for command, data in ((["install", "a"], leaf + root), (["sign", "a"], b"message"), (["import", "b"], None)):
        if data is None:
            with open(world.key("key"), "rb") as stream:
                data = stream.read()
        world.run([world.coffer, "key", *command, "--passcode-fd", "0"], PASSCODE + data)


SCENARIOS = [producers, pem, refusals, exports, rotation, locked, spellings, inputs]


if __name__ == "__main__":
    sys.exit(run(__doc__, SCENARIOS, Files))
