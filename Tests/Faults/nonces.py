"""Reads the nonces of everything that Coffer stores, and finds one that served twice. Used by clone_matrix.py.

Formats.md, FileFormat.md and SECURITY.md say where the nonces are. Where one stands in the clear it is read; what lies
inside of something sealed under the device key is opened for it, in a home without the Secret Service.
"""

import collections
import hashlib
import os
import sys

from cryptography.hazmat.primitives import hashes, keywrap
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Vectors", "generate"))

from reference import library  # noqa: E402

PAGE = 4096


class Ledger:
    """What was sealed under each nonce. The same bytes seen again, as in a copy, are no repeat."""

    def __init__(self):
        self.sealed, self.counts, self.repeats = {}, collections.Counter(), collections.Counter()

    def add(self, kind, nonce, ciphertext, scope=b""):
        """`scope` stands for the key where a nonce is too short to be of one key alone."""
        digest = hashlib.sha256(ciphertext).digest()
        known = self.sealed.setdefault((scope, nonce), digest)
        self.counts[kind] += 1
        if known != digest:
            self.repeat(kind, nonce)

    def repeat(self, kind, nonce):
        self.repeats[kind, nonce] += 1


def hkdf(key, label, vault):
    return HKDF(hashes.SHA256(), 32, None, label.encode() + vault).derive(key)


class Home:
    """The stores of one home that has the device key in it."""

    def __init__(self, path, ledger):
        self.path, self.ledger = path, ledger
        device = self.read("device")
        assert device[:8] == b"COFFERD1" and device[9] == 1, "the device key is not in the home"
        self.vault, self.key = device[16:32], device[32:64]

    def read(self, name):
        try:
            with open(os.path.join(self.path, "vault", name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def names(self, folder):
        try:
            return sorted(os.listdir(os.path.join(self.path, "vault", folder)))
        except FileNotFoundError:
            return []

    def look(self):
        self.keybag()
        self.tokens()
        self.index()
        self.inbox()
        keys = self.file_keys()
        for name in self.names("files"):
            self.container(self.read("files/" + name), keys)

    def xchacha(self, kind, sealed):
        """nonce ‖ ciphertext ‖ tag"""
        if len(sealed) >= 40:
            self.ledger.add(kind, sealed[:24], sealed[24:])

    def slots(self, name, size):
        record = self.read(name)
        for start in range(0, len(record), size):
            count = int.from_bytes(record[start + 40 : start + 44], "big")
            if record[start : start + 8].strip(b"\0"):
                yield record[start + 44 : start + 44 + count]

    def keybag(self):
        for payload in self.slots("keybag", 4096):
            for index in range(int.from_bytes(payload[68:70], "big")):
                entry = payload[70 + 98 * index :][:98]
                self.xchacha("keybag", entry[26:98])

    def file_keys(self):
        """The outer key-encryption keys by their ids."""
        keys = {}
        for payload in self.slots("filekeys", 8192):
            for index in range(int.from_bytes(payload[4:6], "big")):
                entry = payload[6 + 114 * index :][:114]
                purpose, wrapped = entry[:2], entry[18:]
                self.xchacha("record of file keys", wrapped[24:])
                if purpose == b"\0\0":
                    key = hkdf(self.key, "coffer/file-outer-key-wrap/v1", self.vault)
                    context = wrapped[:24] + self.vault + purpose
                    keys[wrapped[8:24]] = library.xopen(
                        key, wrapped[24:48], context, wrapped[48:-16], wrapped[-16:])
        return keys

    def tokens(self):
        file = self.read("tokens")
        if not file:
            return
        self.xchacha("token file", file[32:])
        key = hkdf(self.key, "coffer/token-file/v1", self.vault)
        items = library.xopen(key, file[32:56], file[:32], file[56:-16], file[-16:])
        position = 12
        for _ in range(int.from_bytes(items[8:12], "big")):
            count = int.from_bytes(items[position + 32 : position + 36], "big")
            self.envelope(items[position + 36 : position + 36 + count])
            position += 36 + count

    def envelope(self, envelope):
        self.xchacha("token key", envelope[4 + 24 : 100])
        position = 100
        for part in ("token metadata", "token value"):
            count = int.from_bytes(envelope[position : position + 4], "big")
            self.xchacha(part, envelope[position + 4 : position + 4 + count])
            position += 4 + count

    def index(self):
        file = self.read("fileindex")
        # From version 2 on it has two commits before its frames.
        position = 32 if file[8:10] == b"\0\1" else 1536
        while position + 12 <= len(file):
            size = int.from_bytes(file[position : position + 4], "big")
            if not size or position + size > len(file):
                return
            frame = file[position : position + size]
            if frame[4:6] == b"\0\1":
                start = 12 + 56 * int.from_bytes(frame[8:12], "big")
                self.xchacha("index of files", frame[start:-32])
            position += size

    def inbox(self):
        for name in self.names("inbox"):
            box = self.read("inbox/" + name)[76:-32]
            # The box's nonce is a hash of the public key that was made for it.
            if len(box) > 32:
                self.ledger.add("pending token", box[:32], box[32:])

    def container(self, file, keys):
        """Both slots, and the chunks under the keys of the one that opens."""
        opened = None
        for start in (0, 2048):
            slot = file[start : start + 2048]
            if slot[:8] != b"COFFERF1":
                continue
            salt, sealed = slot[32:64], slot[388:1428]
            self.ledger.add("inner header of a file", slot[376:388], sealed, salt)
            opened = opened or self.open_slot(slot, keys)
        if not opened:
            return
        lg, chunk_key, base, inner_salt, suite, salt = opened
        step = (1 << lg) + 32
        for index, start in enumerate(range(4096, len(file), step)):
            nonce = (int.from_bytes(base, "big") ^ index).to_bytes(12, "big")
            sealed = file[start : start + step]
            self.ledger.add("chunk, outer layer", nonce, sealed, salt)
            inside = suite(chunk_key).decrypt(nonce, sealed, b"")
            self.ledger.add("chunk, inner layer", index.to_bytes(8, "big"), inside, inner_salt)

    def open_slot(self, slot, keys):
        suite, lg = (AESGCM, ChaCha20Poly1305)[slot[10] - 1], slot[11]
        if slot[68:84] not in keys:
            return None
        key = keywrap.aes_key_unwrap(keys[slot[68:84]], slot[88:128])
        info = b"coffer/file/v1\x01" + slot[10:12] + slot[16:64]
        derived = HKDFExpand(hashes.SHA512(), 140, info).derive(key)
        header = suite(derived[76:108]).decrypt(slot[376:388], slot[388:1428], slot[:12] + slot[16:376])
        return lg, derived[:32], derived[32:44], header[32:64], suite, slot[32:64]


def export(path, ledger):
    """The records of an export of tokens."""
    with open(path, "rb") as file:
        data = file.read()
    position = 80
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], "big")
        ledger.add("export", data[position + 4 : position + 28], data[position + 28 : position + 4 + size])
        position += 4 + size


# The reserve of a page, and the size of the nonce at its beginning
FORMATS = {"gcm1": (48, 24), "sqlcipher4": (80, 16)}


def records(log):
    """The writes that cloneshim noted: path and bytes."""
    with open(log, "rb") as file:
        data = file.read()
    position = 0
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], sys.byteorder)
        path = data[position + 4 : position + 4 + size].decode()
        position += 4 + size
        size = int.from_bytes(data[position : position + 4], sys.byteorder)
        yield path, data[position + 4 : position + 4 + size]
        position += 4 + size


def cut(log):
    """Takes away the record that a killed program left unfinished at the end: others would be appended to it."""
    with open(log, "r+b") as file:
        data, whole = file.read(), 0
        while True:
            end = whole
            for _ in range(2):
                end += 4 + int.from_bytes(data[end : end + 4], sys.byteorder)
            if end > len(data) or whole == len(data):
                break
            whole = end
        file.truncate(whole)


def pages(log, format, ledger):
    """The pages that were written to a database, its journal and its WAL; returns how many clones sealed some.

    What is sealed after a fork has a nonce of its own even where both processes seal the same: the same nonce in both
    came out of memory that they share.
    """
    reserve, size = FORMATS[format]
    forks, after = {}, {}
    for path, data in records(log):
        if not path.endswith((".db", "-journal", "-wal")):
            forks[path] = data.decode()
            after[path], after[forks[path]] = [], []
            continue
        kind = next((k for k in ("journal", "wal") if path.endswith("-" + k)), "database")
        # A WAL's frame has 24 bytes before its page; a record of a journal has 4 before it and 4 behind it.
        front, back = {PAGE + 24: (24, 0), PAGE + 8: (4, 4), PAGE + 4: (4, 0)}.get(len(data), (0, 0))
        body = data[front : len(data) - back]
        if len(body) % PAGE or (kind == "journal" and data[:4] == b"\xd9\xd5\x05\xf9"):
            continue
        for start in range(0, len(body), PAGE):
            page = body[start : start + PAGE]
            tail = page[PAGE - reserve :]
            if any(tail):
                rest = page[: PAGE - reserve] + tail[size:]
                ledger.add(f"{kind}, {format}", tail[:size], rest)
                if os.path.dirname(path) in after:
                    after[os.path.dirname(path)].append((f"{kind}, {format}", tail[:size]))
    for clone, root in forks.items():
        # The first page was sealed before the fork, which came before its write.
        parent = {nonce for _, nonce in after[root][1:]}
        for kind, nonce in after[clone][1:]:
            if nonce in parent:
                ledger.repeat(kind, nonce)
    return sum(len(after[clone]) > 1 for clone in forks)
