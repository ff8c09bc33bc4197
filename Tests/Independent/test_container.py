#!/usr/bin/env python3
"""Tests the independent reader against the independent writer: test_container.py [-v]"""

import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import read_container
import write_container
from read_container import Keys, Refused, read
from write_container import Options, SlotPlan, Writer

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = random.Random("container")
DEVICE, CLASS, VAULT = SOURCE.randbytes(32), SOURCE.randbytes(32), SOURCE.randbytes(16)
KEYS = Keys(DEVICE, CLASS, VAULT)
FROZEN = "18a3b9957e7f591f79c1568fbfd0df77c53c1bf6c107374f76bb142cc0e0cc94"


def make(plaintext, slots=(SlotPlan(),), seed="seed", writer=Writer, **options):
    return writer(DEVICE, CLASS, VAULT, Options(**options), seed).container(plaintext, slots)


class Plain(unittest.TestCase):
    def test_sizes(self):
        for suite in write_container.AEADS:
            for lg in (4, 5, 8, 12, 16):
                size = 1 << lg
                for length in (0, 1, size - 1, size, size + 1, 2 * size - 1, 2 * size, 3 * size):
                    with self.subTest(suite=suite, lg=lg, length=length):
                        plaintext = SOURCE.randbytes(length)
                        data = make(plaintext, lg=lg, suite=suite)
                        self.assertEqual(len(data), 4096 + length + 32 * (length // size + 1))
                        self.assertEqual(read(data, KEYS).plaintext, plaintext)

    def test_every_chunk_size(self):
        plaintext = SOURCE.randbytes(100_000)
        for lg in range(4, 23):
            with self.subTest(lg=lg):
                self.assertEqual(read(make(plaintext, lg=lg), KEYS).plaintext, plaintext)

    def test_largest_chunk_twice(self):
        plaintext = SOURCE.randbytes((1 << 23) + 1)
        self.assertEqual(read(make(plaintext, lg=22), KEYS).plaintext, plaintext)

    def test_many_chunks(self):
        # More than 256 and more than 65 536 chunks: the index reaches the second and third byte of the nonce.
        plaintext = SOURCE.randbytes(16 * 65_540 + 3)
        self.assertEqual(read(make(plaintext, lg=4), KEYS).plaintext, plaintext)

    def test_what_the_headers_say(self):
        data = make(b"x" * 20, lg=4, name=b"caf\xc3\xa9 \xff.txt", media_type=b"text/plain",
                    protection_class=2, mtime=-1, content_generation=7, suite="aes-256-gcm")
        said = read_container.describe(read(data, KEYS))
        self.assertEqual(said["name"], "caf\u00e9 \\xff.txt")
        self.assertEqual(said["mediaType"], "text/plain")
        self.assertEqual(said["class"], "afterFirstUnlockThisDeviceOnly")
        self.assertEqual(said["suites"], {"outer": "AES-256-GCM", "inner": "AES-256-GCM"})
        self.assertEqual((said["length"], said["generation"], said["lg"], said["mtime"]), (20, 7, 4, -1))

    def test_longest_name_and_type(self):
        data = make(b"", name=b"n" * 255, media_type=b"m" * 127)
        inner = read(data, KEYS).inner
        self.assertEqual((inner.name, inner.media_type), (b"n" * 255, b"m" * 127))

    def test_context(self):
        data = make(b"bound", context=b"record 7")
        self.assertEqual(read(data, KEYS._replace(context=b"record 7")).plaintext, b"bound")
        for context in (b"", b"record 8", b"record 7\0"):
            with self.assertRaises(Refused):
                read(data, KEYS._replace(context=context))
        with self.assertRaises(Refused):
            read(make(b"unbound"), KEYS._replace(context=b"record 7"))

    def test_a_seed_repeats_and_no_seed_does_not(self):
        self.assertEqual(make(b"same", seed="s"), make(b"same", seed="s"))
        self.assertNotEqual(make(b"same", seed="s"), make(b"same", seed="t"))
        self.assertNotEqual(make(b"same", seed=None), make(b"same", seed=None))

    def test_layout_stays(self):
        # A container frozen at the first version of the format; a change here is a change of the format.
        device, klass, vault = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 80))
        options = Options(lg=4, name=b"frozen", context=b"bound")
        data = Writer(device, klass, vault, options, "frozen").container(bytes(range(50)))
        self.assertEqual(hashlib.sha256(data).hexdigest(), FROZEN)
        self.assertEqual(read(data, Keys(device, klass, vault, b"bound")).plaintext, bytes(range(50)))


class Damage(unittest.TestCase):
    """lg 4, 50 bytes: chunks of 16, 16, 16 and 2 bytes."""

    plaintext = bytes(range(50))
    stride = 16 + 32

    def setUp(self):
        self.data = make(self.plaintext, lg=4, name=b"small")

    def refused(self, data, keys=KEYS, reason=""):
        with self.assertRaisesRegex(Refused, reason):
            read(data, keys)

    def test_wrong_keys(self):
        for wrong in (KEYS._replace(device=bytes(32)), KEYS._replace(klass=bytes(32)),
                      KEYS._replace(device=CLASS, klass=DEVICE)):
            self.refused(self.data, wrong, "does not unwrap")
        self.refused(self.data, KEYS._replace(vault=bytes(16)), "another vault")

    def test_truncation_at_every_byte(self):
        for length in range(len(self.data)):
            self.refused(self.data[:length])

    def test_truncation_at_every_byte_when_the_last_chunk_is_empty(self):
        for count in (0, 16, 48):
            data = make(bytes(count), lg=4)
            for length in range(len(data)):
                self.refused(data[:length])

    def test_extension(self):
        zeros = [bytes(count) for count in (1, 13, 14, 15, 16, 31, 32, 47, 48, 4096)]
        parts = [b"\xff", self.data[-34:], self.data[4096:4144], self.data[4096:], self.data]
        for tail in zeros + parts:
            self.refused(self.data + tail)

    def test_bit_flips(self):
        # Slot B is empty here and no part of the file's meaning: flips there have a test of their own.
        source = random.Random("flips")
        places = [*range(2048), *range(4096, len(self.data))]
        for _ in range(2000):
            place, bit = source.choice(places), source.randrange(8)
            damaged = bytearray(self.data)
            damaged[place] ^= 1 << bit
            self.refused(bytes(damaged))

    def test_every_byte_of_the_slot_and_the_chunks(self):
        for place in (*range(2048), *range(4096, len(self.data))):
            damaged = bytearray(self.data)
            damaged[place] ^= 0xFF
            self.refused(bytes(damaged))

    def test_flips_in_the_other_slot_change_nothing(self):
        for slots in ((SlotPlan("A"),), (SlotPlan("A", 1), SlotPlan("B", 2))):
            data = make(self.plaintext, slots, lg=4)
            for place in range(2048, 4096, 7):
                damaged = bytearray(data)
                damaged[place] ^= 1
                container = read(bytes(damaged), KEYS)
                self.assertEqual((container.plaintext, container.slot.which), (self.plaintext, "A"))

    def test_swapped_and_repeated_chunks(self):
        def chunk(index):
            return self.data[4096 + index * self.stride : 4096 + (index + 1) * self.stride]

        header, last = self.data[:4096], chunk(3)
        for order in ((1, 0, 2), (0, 2, 1), (2, 1, 0), (0, 0, 2), (0, 1, 1)):
            self.refused(header + b"".join(map(chunk, order)) + last, reason="chunk . is not authentic")
        for order in ((0, 1), (0, 1, 2, 2), ()):
            self.refused(header + b"".join(map(chunk, order)) + last, reason="contradicts")

    def test_parts_of_another_file(self):
        other = make(self.plaintext, lg=4, seed="other")
        self.refused(other[:2048] + self.data[2048:])
        self.refused(self.data[:4096] + other[4096:])
        self.refused(self.data[:2048] + other[:2048] + self.data[4096:], reason="disagree")

    def test_empty_slots_or_no_container(self):
        self.refused(b"")
        self.refused(bytes(4096 + 34))
        self.refused(bytes(4096) + self.data[4096:])
        self.refused(os.urandom(5000))


class Slots(unittest.TestCase):
    def test_the_newer_slot_counts(self):
        for a, b, name in ((1, 2, b"b"), (2, 1, b"a"), (255, 256, b"b"), (0xFFFFFFFF, 1, b"a")):
            data = make(b"text", (SlotPlan("A", a, name=b"a"), SlotPlan("B", b, name=b"b")))
            self.assertEqual(read(data, KEYS).inner.name, name)

    def test_slot_b_alone(self):
        self.assertEqual(read(make(b"text", (SlotPlan("B", 5),)), KEYS).slot.which, "B")

    def test_the_older_slot_serves_when_the_newer_is_torn(self):
        data = bytearray(make(b"text", (SlotPlan("A", 1, name=b"a"), SlotPlan("B", 2, name=b"b"))))
        data[2048 + 1000 : 4096] = bytes(1048)
        self.assertEqual(read(bytes(data), KEYS).inner.name, b"a")

    def test_half_way_through_a_rewrap(self):
        new_device, new_class = SOURCE.randbytes(32), SOURCE.randbytes(32)
        rewrapped = SlotPlan("B", 2, device_key=new_device, class_key=new_class, protection_class=2)
        data = make(b"text", (SlotPlan("A", 1), rewrapped))
        new = read(data, Keys(new_device, new_class, VAULT))
        self.assertEqual((new.slot.which, new.slot.klass, new.plaintext), ("B", 2, b"text"))
        self.assertEqual(read(data, KEYS).slot.which, "A")
        # Each slot needs both of its keys.
        for keys in (Keys(new_device, CLASS, VAULT), Keys(DEVICE, new_class, VAULT)):
            with self.assertRaises(Refused):
                read(data, keys)


class Authentic(unittest.TestCase):
    """Containers that a holder of all keys made wrong: every tag holds, and the rules alone refuse them."""

    def refused(self, reason, slot=None, inner=None, writer=Writer):
        def edited(body, edit):
            if edit is None:
                return body
            at, value = edit
            return body[:at] + value + body[at + len(value) :]

        class Wrong(writer):
            def edit_slot(self, body):
                return edited(body, slot)

            def edit_inner(self, body):
                return edited(body, inner)

        with self.assertRaisesRegex(Refused, reason):
            read(make(b"x" * 20, writer=Wrong, lg=4), KEYS)

    def test_slot(self):
        self.refused("wrong magic", slot=(0, b"COFFERF2"))
        self.refused("unknown version", slot=(8, b"\0\2"))
        self.refused("unknown outer suite", slot=(10, b"\0"))
        self.refused("unknown outer suite", slot=(10, b"\3"))
        self.refused("out of bounds", slot=(11, b"\3"))
        self.refused("out of bounds", slot=(11, b"\x17"))
        self.refused("unknown wrap algorithm", slot=(66, b"\0\2"))
        self.refused("wrapped key of", slot=(84, b"\0\x27"))
        self.refused("wrapped key of", slot=(84, b"\1\1"))
        self.refused("does not unwrap", slot=(88, b"\xaa"))
        self.refused("outer commitment", slot=(344, bytes(32)))
        self.refused("outer commitment", slot=(10, b"\1"))
        self.refused("inner header does not open", slot=(376, bytes(12)))
        self.refused("inner header does not open", slot=(64, b"\0\2"))

    def test_inner_header(self):
        self.refused("wrong inner magic", inner=(0, b"COFFERF1"))
        self.refused("unknown inner version", inner=(8, b"\0\2"))
        self.refused("unknown inner suite", inner=(10, b"\2"))
        self.refused("another file", inner=(11, b"\5"))
        self.refused("another file", inner=(16, bytes(16)))
        self.refused("inner commitment", inner=(32, bytes(32)))
        self.refused("unknown wrap algorithm", inner=(80, b"\0\0"))
        self.refused("wrapped key of", inner=(82, b"\xff\xff"))
        self.refused("inner commitment", inner=(340, bytes(32)))
        self.refused("contradicts", inner=(380, b"\0" * 7 + b"\x15"))
        self.refused("contradicts", inner=(380, b"\xff" * 8))
        self.refused("too long", inner=(396, b"\1\0"))
        self.refused("too long", inner=(653, b"\x80"))
        self.refused("unknown padding", inner=(781, b"\1"))

    def test_the_inner_mac_is_checked(self):
        class Wrong(Writer):
            def inner_header(self, plan, length):
                header = super().inner_header(plan, length)
                return header[:400] + b"!" + header[401:]

        self.refused("inner header authentication", writer=Wrong)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "container")
        self.hex_keys = ["--device-key-hex", DEVICE.hex(), "--class-key-hex", CLASS.hex(),
                         "--vault-id-hex", VAULT.hex()]

    def run_program(self, program, *arguments, given=b"", keys=None, **more):
        command = [sys.executable, os.path.join(HERE, program), *arguments]
        if keys is not None:
            reading, writing = os.pipe()
            os.write(writing, json.dumps(keys).encode())
            os.close(writing)
            command += ["--keys-fd", str(reading)]
            more["pass_fds"] = (reading,)
        done = subprocess.run(command, input=given, capture_output=True, timeout=60, **more)
        if keys is not None:
            os.close(reading)
        return done

    def write(self, plaintext, *options):
        done = self.run_program("write_container.py", "-", self.path, *self.hex_keys, *options, given=plaintext)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_there_and_back(self):
        plaintext = bytes(range(256)) * 20
        self.write(plaintext, "--lg", "9", "--name", "a b", "--slot", "both", "--context-hex", "0102")
        keys = {"deviceKey": DEVICE.hex(), "classKey": CLASS.hex(), "vaultID": VAULT.hex().upper()}
        for more in ({"keys": keys}, {}):
            given = [] if more else self.hex_keys
            done = self.run_program("read_container.py", self.path, "--context-hex", "0102", *given, **more)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plaintext, b""))
        done = self.run_program("read_container.py", self.path, "--context-hex", "0102", "--info", keys=keys)
        said = json.loads(done.stdout)
        self.assertEqual((said["name"], said["length"], said["slot"], said["lg"]), ("a b", 5120, "B", 9))

    def test_a_refusal_prints_nothing(self):
        self.write(b"secret" * 100, "--lg", "4")
        with open(self.path, "r+b") as stream:
            stream.seek(4096 + 48 * 20)
            stream.write(b"?")
        for more in ([], ["--info"]):
            done = self.run_program("read_container.py", self.path, *self.hex_keys, *more)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertEqual(done.stderr.count(b"\n"), 1)
        missing = self.run_program("read_container.py", self.path + "-", *self.hex_keys)
        self.assertEqual((missing.returncode, missing.stdout), (1, b""))

    def test_a_name_that_is_no_utf8(self):
        self.write(b"", "--name", os.fsdecode(b"\xff\xfe"))
        done = self.run_program("read_container.py", self.path, *self.hex_keys, "--info")
        self.assertEqual(json.loads(done.stdout)["name"], "\\xff\\xfe")


if __name__ == "__main__":
    unittest.main()
