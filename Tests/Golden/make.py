#!/usr/bin/env python3
"""Makes the golden homes of the present format with the command, and writes down what is in them.

    Tests/Golden/make.py --coffer .build/debug/coffer Tests/Golden/vN

The folder must not exist. It gets NAME.tar.gz for each home and contents.json, which the tests read. Run it once for
each format of a release, and never again for one that was released: the tests show that later releases read the bytes
that this one wrote.
"""

import argparse
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

CLASSES = (
    "whenUnlockedThisDeviceOnly",
    "afterFirstUnlockThisDeviceOnly",
    "whenPasscodeSetThisDeviceOnly",
    "whenUnlocked",
    "afterFirstUnlock",
)
PASSCODE = "correct horse 7"
PASSPHRASE = "a passphrase of golden homes"
COST = ["--kdf-memory", "8", "--kdf-passes", "2"]
CONTEXT = "case 7"


def repeated(text):
    """A text, or a shorter one and how often it is repeated."""
    if len(text) > 1000:
        assert text == text[0] * len(text)
        return {"value": text[0], "count": len(text)}
    return {"value": text, "count": 1}


class Home:
    def __init__(self, coffer, folder, name, passcode):
        self.coffer, self.path, self.name, self.passcode = coffer, folder / name / "home", name, passcode
        self.path.parent.mkdir(parents=True)
        self.user = None
        self.contents = {"name": name, "passcode": passcode, "tokens": [], "files": [], "users": [], "keyPairs": []}

    def run(self, *arguments, stdin=b"", code=0, locked=False):
        """Runs a command, with the passcode on descriptor 9 unless the vault is to stay locked."""
        count = 1 if arguments[0] in ("init", "status") else 3 if arguments[0] == "oauth" else 2
        place = ["--home", str(self.path), *(["--user", self.user] if self.user else [])]
        words = [*arguments[:count], *place, *arguments[count:]]
        reader, writer = os.pipe()
        os.write(writer, (self.passcode or "").encode() + b"\n")
        os.close(writer)
        if self.passcode and not locked:
            words += ["--passcode-fd", str(reader)]
        try:
            done = subprocess.run(
                [self.coffer, *words], input=stdin, stdout=subprocess.PIPE, pass_fds=[reader], timeout=120, check=False
            )
        finally:
            os.close(reader)
        assert done.returncode == code, (words, done.returncode)
        return done.stdout.decode()

    def init(self, *options):
        self.run("init", "--keyring", "file", *COST, *options, *([] if self.passcode else ["--no-passcode"]))

    def token(self, service, account, value, kind="access", **more):
        options = ["--kind", kind]
        for scope in more.get("scopes", []):
            options += ["--scope", scope]
        for name in ("class", "expires", "label"):
            if name in more:
                options += ["--" + name, more[name]]
        self.run("token", "put", *options, service, account, stdin=value.encode(), locked=more.get("pending", False))
        entry = {"service": service, "account": account, "kind": kind, **repeated(value), **more}
        self.contents["tokens"].append(entry)

    def file(self, name, content, **more):
        options = [word for key, value in more.items() for word in ("--" + key, value)]
        text = self.run("file", "add", "--name", name, *options, "-", stdin=content)
        self.contents["files"].append({"name": name, "id": text.strip(), **repeated(content.decode()), **more})

    def stores(self):
        """A program's own database and a soup."""
        sql = "CREATE TABLE note (body TEXT); INSERT INTO note VALUES ('kept'), ('for good');"
        self.run("database", "query", "--vault", "notes", "--create", "-", stdin=sql.encode())
        self.contents["notes"] = ["kept", "for good"]
        documents = [{"Name": "Cloud", "Id": "a1"}, {"Name": "Rain", "Id": "a2"}]
        self.run(
            "soup", "upsert", "accounts", "--index", "Name:string", "--index", "Id:string", stdin=json.dumps(documents).encode()
        )
        self.contents["accounts"] = ["Cloud", "Rain"]

    def user_vault(self, name, passcode):
        """A user's vault in this one, with one token."""
        outer = (self.user, self.passcode)
        self.user, self.passcode = name, passcode
        self.init()
        self.run("token", "put", "user.example.org", "u", stdin=("of " + name).encode())
        self.contents["users"].append({"name": name, "passcode": passcode, "token": "of " + name})
        self.user, self.passcode = outer

    def administrator(self, folder):
        """A key whose orders the vault accepts, an order of its holder, and the dead-man's switch."""
        key = folder / (self.name + ".key")
        public = subprocess.run(
            [self.coffer, "remote-wipe", "keygen", str(key)], check=True, stdout=subprocess.PIPE, timeout=60
        ).stdout.decode().strip()
        self.run("remote-wipe", "trust-key", public, "--label", "admin")
        self.run("remote-wipe", "heartbeat", "--action", "lock", "--after-days", "3650")
        vault = json.loads(self.run("status", "--json", locked=True))["vaultID"]
        order = subprocess.run(
            [self.coffer, "remote-wipe", "create", "--key-file", str(key), "--vault", vault, "--scope", "tokens"]
            + ["--counter", "7", "--issued", "2026-01-01T00:00:00Z", "--valid-for", str(3650 * 86400)]
            + ["--reason", "lost device"],
            check=True, stdout=subprocess.PIPE, timeout=60,
        ).stdout
        (self.path.parent / "wipe.order").write_bytes(order)
        self.contents["administrator"] = "admin"

    def profile(self):
        """A client of an OAuth server; nothing is sent."""
        self.run(
            "oauth", "profile", "add", "work", "--issuer", "https://id.example.org", "--client-id", "client 1"
        )
        self.contents["profile"] = {"name": "work", "issuer": "https://id.example.org", "client": "client 1"}

    def key_pair(self, alias, algorithm, protection, *options):
        self.run("key", "generate", alias, "--algorithm", algorithm, "--class", protection, *options)
        public = self.run("key", "public", alias, locked=True).strip()
        entry = {"alias": alias, "algorithm": algorithm, "class": protection, "confirm": "--confirm" in options}
        self.contents["keyPairs"].append({**entry, "public": public})

    def export(self, count):
        file = self.path.parent / "tokens.export"
        reader, writer = os.pipe()
        os.write(writer, PASSPHRASE.encode() + b"\n")
        os.close(writer)
        words = [self.coffer, "export", "--home", str(self.path), "--passphrase-fd", str(reader), "--passcode-fd", "0", str(file)]
        subprocess.run(words, input=(self.passcode or "").encode() + b"\n", check=True, pass_fds=[reader], timeout=120)
        os.close(reader)
        self.contents["export"] = {"passphrase": PASSPHRASE, "tokens": count}


def with_passcode(home, folder):
    home.init("--policy", "alphanumeric", "--deny-common", "--inactivity", "30")
    for number, name in enumerate(CLASSES):
        home.token("api.example.org", f"c{number}", f"value {number}", **{"class": name})
    home.token("api.example.org", "full", "refresh", kind="refresh", scopes=["read", "write"], expires="2037-02-01", label="all of it")
    home.token("id.example.org", "full", "identity", kind="id")
    home.token("long.example.org", "full", "x" * 20_000, kind="other")
    home.token("unicode.example.org", "Zoe\u0301", "z\u00e9")
    home.file("empty", b"")
    home.file("small.txt", b"a small file\n")
    home.file("big", b"x" * 70_000, context=CONTEXT)
    home.file("movable", b"may leave", **{"class": "whenUnlocked", "outer-cipher": "aes-256-gcm"})
    home.file("replaced keys", b"before the keys were replaced")
    home.run("file", "rewrap")
    home.file("new keys", b"after the keys were replaced")
    home.stores()
    home.key_pair("work", "ed25519", "whenUnlockedThisDeviceOnly")
    home.key_pair("kept", "p256", "afterFirstUnlock", "--confirm")
    home.key_pair("passcode", "p384", "whenPasscodeSetThisDeviceOnly")
    home.user_vault("ada", "another horse 8")
    home.user_vault("bob", None)
    home.administrator(folder)
    home.export(2)
    home.profile()
    home.run("key", "device", "--stored", "legacy", "--create", "--rounds", "1000", "--device-id", "device-1")
    home.contents["documented"] = home.run("key", "device", "--stored", "legacy").strip()
    home.token("late.example.org", "zoe", "late", pending=True)
    # One wrong passcode is counted.
    right, home.passcode = home.passcode, "wrong 654321"
    home.run("token", "list", code=5)
    home.passcode = right


def without_passcode(home, folder):
    home.init("--erase-after", "never")
    for number, name in enumerate(CLASSES):
        if name != "whenPasscodeSetThisDeviceOnly":
            home.token("api.example.org", f"c{number}", f"value {number}", **{"class": name})
    home.file("small.txt", b"a small file\n", **{"class": "afterFirstUnlock"})
    home.stores()


def normalised(entry):
    """No names and no dates of the machine that made it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coffer", type=Path, required=True)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    options.target.mkdir(parents=True)
    os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
    contents = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, passcode, fill in (("passcode", PASSCODE, with_passcode), ("open", None, without_passcode)):
            home = Home(str(options.coffer.resolve()), folder, name, passcode)
            fill(home, folder)
            contents.append(home.contents)
            with tarfile.open(options.target / (name + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
                for entry in sorted(home.path.parent.iterdir()):
                    archive.add(entry, entry.name, filter=normalised)
    text = json.dumps({"homes": contents}, indent=1, ensure_ascii=True)
    (options.target / "contents.json").write_text(text + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
