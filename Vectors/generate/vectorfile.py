"""The file format (the shape of Wycheproof's JSON), the seeded stream and the helpers every family uses."""

import hashlib
import json

from flags import FLAGS

SEED = "coffer-vectors-1"


class Stream:
    """Reproducible bytes: SHA-256 over the seed, a label and a counter."""

    def __init__(self, label):
        self.seed = f"{SEED}/{label}"
        self.counter = 0

    def bytes(self, count):
        out = b""
        while len(out) < count:
            text = f"{self.seed}/{self.counter}"
            out += hashlib.sha256(text.encode()).digest()
            self.counter += 1
        return out[:count]

    def below(self, limit):
        return int.from_bytes(self.bytes(16), "big") % limit

    def uuid(self):
        """A version 4 UUID in its documented form: upper case, with dashes."""
        raw = bytearray(self.bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = bytes(raw).hex().upper()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class VectorFile:
    """One JSON file: one algorithm, its groups in the order of their first case."""

    def __init__(self, name, algorithm, schema, test_type, header):
        self.name = name + ".json"
        self.algorithm = algorithm
        self.schema = schema
        self.test_type = test_type
        self.header = header
        self.stream = Stream(name)
        self.groups = []
        self.seen = {}

    def published(self, source, **attributes):
        """The group of cases retyped from a standard: "document, section"."""
        return self._group({"name": source, "version": "published"}, attributes)

    def own(self, **attributes):
        """The group of cases that the generator made."""
        return self._group({"name": "Coffer", "version": "1", "seed": self.stream.seed}, attributes)

    def _group(self, source, attributes):
        head = {"type": self.test_type, "source": source, **attributes}
        for group in self.groups:
            if group.head == head:
                return group
        group = Group(self, head)
        self.groups.append(group)
        return group

    @property
    def tests(self):
        return [test for group in self.groups for test in group.tests]

    def count(self, result):
        return sum(test["result"] == result for test in self.tests)

    def sources(self):
        """The published sources in order, without repetition."""
        names = [g.head["source"]["name"] for g in self.groups if g.head["source"]["name"] != "Coffer"]
        return list(dict.fromkeys(names))

    def text(self):
        used = {flag for test in self.tests for flag in test["flags"]}
        notes = {flag: {"bugType": FLAGS[flag][0], "description": FLAGS[flag][1]} for flag in sorted(used)}
        top = {
            "algorithm": self.algorithm,
            "schema": self.schema,
            "numberOfTests": len(self.tests),
            "header": self.header,
            "notes": notes,
        }
        lines = ["{"] + [f" {json.dumps(key)}: {_indented(value)}," for key, value in top.items()]
        lines.append(' "testGroups": [')
        number = 0
        for group in self.groups:
            lines.append("  {")
            lines += [f"   {json.dumps(key)}: {json.dumps(value)}," for key, value in group.head.items()]
            lines.append('   "tests": [')
            for test in group.tests:
                number += 1
                comma = "" if test is group.tests[-1] else ","
                lines.append("    " + json.dumps({"tcId": number, **test}, separators=(",", ":")) + comma)
            lines += ["   ]", "  }" if group is self.groups[-1] else "  },"]
        return "\n".join(lines + [" ]", "}"]) + "\n"


class Group:
    """Cases that share their source and sizes."""

    def __init__(self, file, head):
        self.file = file
        self.head = head
        self.tests = []

    def add(self, result, comment, flags, **fields):
        assert result in ("valid", "invalid", "acceptable") and flags
        assert all(flag in FLAGS for flag in flags), flags
        fields = {key: value.hex() if isinstance(value, bytes) else value for key, value in fields.items()}
        identity = json.dumps([{k: v for k, v in self.head.items() if k != "source"}, fields, result])
        twin = self.file.seen.setdefault(identity, comment)
        # SP 800-38A lists encryption and decryption of the same values as separate examples.
        assert twin == comment or "decrypt" in comment, f"{self.file.name}: {comment} repeats {twin}"
        self.tests.append({"comment": comment, "flags": list(flags), **fields, "result": result})

    def valid(self, comment, flags, **fields):
        self.add("valid", comment, flags, **fields)

    def invalid(self, comment, flags, **fields):
        self.add("invalid", comment, flags, **fields)

    def acceptable(self, comment, flags, **fields):
        self.add("acceptable", comment, flags, **fields)


def _indented(value):
    return json.dumps(value, indent=1).replace("\n", "\n ")


def agree(*results):
    """The common result of several implementations."""
    assert all(result == results[0] for result in results), results
    return results[0]


def refused(*calls):
    """Asserts that every implementation refuses."""
    for call in calls:
        try:
            call()
        except ValueError:
            continue
        raise AssertionError("an implementation accepts what must be refused")


def flip(data, bit):
    """The bytes with one bit changed; bit 0 is the lowest of the first byte."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def fit(data, size):
    """The bytes cut or zero-filled at the end: what a careless interface does with a wrong size."""
    return data[:size] + bytes(size - len(data[:size]))


def fit_aes_key(key):
    """The AES key that a careless interface makes of one of the wrong size."""
    return fit(key, max((size for size in (16, 24, 32) if size <= len(key)), default=16))


SMALL_SIZES = (0, 1, 2, 3, 7, 8, 13, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129)
LARGE_SIZES = (1023, 1024, 1025, 4095, 4096, 4097)
WRONG_AES_KEY_SIZES = (0, 8, 15, 17, 31, 33, 64)
