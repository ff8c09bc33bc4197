"""The cases that AES-GCM, ChaCha20-Poly1305 and XChaCha20-Poly1305 have in common."""

from vectorfile import SMALL_SIZES, agree, fit, flip, refused

HEADER = [
    "Authenticated encryption with associated data.",
    "valid: sealing gives ct and tag, and opening them gives msg.",
    "invalid: opening must be refused and no plaintext released; sealing with a key or nonce of that size too.",
]
SCHEMA = "fields of aead_test_schema_v1.json"
MODIFIED_TAG_BITS = (0, 1, 7, 8, 31, 32, 63, 64, 65, 71, 77, 80, 96, 97, 103, 112, 119, 120, 126, 127)


class Aead:
    """One algorithm through two implementations: each has seal and open."""

    def __init__(self, file, iv_size, seals, opens):
        self.file, self.iv_size, self.seals, self.opens = file, iv_size, seals, opens

    def seal(self, key, iv, aad, msg):
        return agree(*(seal(key, iv, aad, msg) for seal in self.seals))

    def must_refuse(self, *inputs):
        refused(*(lambda o=o: o(*inputs) for o in self.opens))

    def group(self, key, iv, tag):
        return self.file.own(ivSize=8 * len(iv), keySize=8 * len(key), tagSize=8 * len(tag))

    def good(self, comment, flags, key, iv, aad, msg):
        ct, tag = self.seal(key, iv, aad, msg)
        agree(msg, *(o(key, iv, aad, ct, tag) for o in self.opens))
        self.group(key, iv, tag).valid(comment, flags, key=key, iv=iv, aad=aad, msg=msg, ct=ct, tag=tag)

    def bad(self, comment, flags, key, iv, aad, msg, ct, tag):
        self.must_refuse(key, iv, aad, ct, tag)
        self.unchecked_bad(comment, flags, key, iv, aad, msg, ct, tag)

    def unchecked_bad(self, comment, flags, key, iv, aad, msg, ct, tag):
        self.group(key, iv, tag).invalid(comment, flags, key=key, iv=iv, aad=aad, msg=msg, ct=ct, tag=tag)

    # families of cases

    def sizes(self, key_size, large):
        stream = self.file.stream
        for size in SMALL_SIZES:
            aad = stream.bytes((0, 8, 13, 16)[size % 4])
            self.good(
                f"message of {size} bytes, associated data of {len(aad)}",
                ["Pseudorandom"],
                stream.bytes(key_size),
                stream.bytes(self.iv_size),
                aad,
                stream.bytes(size),
            )
        for size in (0, 1, 7, 15, 16, 17, 31, 32, 33, 64, 65, 255):
            self.good(
                f"associated data of {size} bytes, message of 19",
                ["Pseudorandom"],
                stream.bytes(key_size),
                stream.bytes(self.iv_size),
                stream.bytes(size),
                stream.bytes(19),
            )
        for size in (1, 16, 33):
            self.good(
                f"empty message, associated data of {size} bytes",
                ["Pseudorandom"],
                stream.bytes(key_size),
                stream.bytes(self.iv_size),
                stream.bytes(size),
                b"",
            )
        for size in large:
            self.good(
                f"message of {size} bytes",
                ["Pseudorandom", "LargeMessage"],
                stream.bytes(key_size),
                stream.bytes(self.iv_size),
                stream.bytes(5),
                stream.bytes(size),
            )
        self.good("key and IV of zeros", ["EdgeCase"], bytes(key_size), bytes(self.iv_size), b"", bytes(33))
        self.good(
            "key and IV of ones",
            ["EdgeCase"],
            b"\xff" * key_size,
            b"\xff" * self.iv_size,
            b"\xff" * 17,
            b"\xff" * 33,
        )
        self.good(
            "IV ends in ones",
            ["EdgeCase"],
            stream.bytes(key_size),
            stream.bytes(self.iv_size - 8) + b"\xff" * 8,
            b"",
            stream.bytes(70),
        )

    def modified(self, key_size):
        stream = self.file.stream

        def fresh(aad_size=20, msg_size=35):
            key, iv = stream.bytes(key_size), stream.bytes(self.iv_size)
            aad, msg = stream.bytes(aad_size), stream.bytes(msg_size)
            return key, iv, aad, msg, *self.seal(key, iv, aad, msg)

        key, iv, aad, msg, ct, tag = fresh()
        for bit in MODIFIED_TAG_BITS:
            self.bad(f"bit {bit} of the tag flipped", ["ModifiedTag"], key, iv, aad, msg, ct, flip(tag, bit))
        for comment, changed in (
            ("first and last bit of the tag flipped", flip(flip(tag, 0), 127)),
            ("bit 7 of two bytes of the tag flipped", flip(flip(tag, 7), 71)),
            ("tag inverted", bytes(b ^ 0xFF for b in tag)),
            ("tag with every byte's high bit flipped", bytes(b ^ 0x80 for b in tag)),
            ("tag of zeros", bytes(16)),
            ("tag of ones", b"\xff" * 16),
            ("tag with its bytes reversed", tag[::-1]),
            ("tag with its halves exchanged", tag[8:] + tag[:8]),
        ):
            self.bad(comment, ["ModifiedTag"], key, iv, aad, msg, ct, changed)
        key, iv, aad, msg, ct, tag = fresh(0, 0)
        self.bad(
            "nothing sealed, bit 0 of the tag flipped", ["ModifiedTag"], key, iv, aad, msg, ct, flip(tag, 0)
        )
        for size in range(16):
            key, iv, aad, msg, ct, tag = fresh()
            self.bad(f"tag of {size} bytes", ["InvalidTagSize"], key, iv, aad, msg, ct, tag[:size])
        for extra in (1, 8, 16):
            key, iv, aad, msg, ct, tag = fresh()
            self.bad(
                f"tag of {16 + extra} bytes", ["InvalidTagSize"], key, iv, aad, msg, ct, tag + bytes(extra)
            )
        key, iv, aad, msg, ct, tag = fresh()
        for comment, changed in (
            ("first bit of the ciphertext flipped", flip(ct, 0)),
            ("bit in the second block of the ciphertext flipped", flip(ct, 130)),
            ("last bit of the ciphertext flipped", flip(ct, 8 * len(ct) - 1)),
            ("ciphertext without its last byte", ct[:-1]),
            ("ciphertext without its first byte", ct[1:]),
            ("ciphertext cut to two blocks", ct[:32]),
            ("no ciphertext", b""),
            ("a zero byte after the ciphertext", ct + b"\0"),
            ("blocks of the ciphertext exchanged", ct[16:32] + ct[:16] + ct[32:]),
        ):
            self.bad(comment, ["ModifiedCiphertext"], key, iv, aad, msg, changed, tag)
        for comment, changed in (
            ("first bit of the associated data flipped", flip(aad, 0)),
            ("last bit of the associated data flipped", flip(aad, 159)),
            ("associated data without its last byte", aad[:-1]),
            ("no associated data", b""),
            ("a zero byte after the associated data", aad + b"\0"),
        ):
            self.bad(comment, ["ModifiedAad"], key, iv, changed, msg, ct, tag)
        self.bad(
            "associated data given though none was",
            ["ModifiedAad"],
            key,
            iv,
            b"\0",
            msg,
            *self.seal(key, iv, b"", msg),
        )
        for size in (16, 20):
            key, iv, aad, msg, ct, tag = fresh(32, 32)
            self.bad(
                f"{size} bytes moved from the associated data to the ciphertext",
                ["ModifiedAad"],
                key,
                iv,
                aad[:-size],
                msg,
                aad[-size:] + ct,
                tag,
            )
        for bit in (0, 8 * self.iv_size // 2, 8 * self.iv_size - 1):
            key, iv, aad, msg, ct, tag = fresh()
            self.bad(f"bit {bit} of the IV flipped", ["ModifiedIv"], key, flip(iv, bit), aad, msg, ct, tag)
        for bit in (0, 8 * key_size - 1):
            key, iv, aad, msg, ct, tag = fresh()
            self.bad(f"bit {bit} of the key flipped", ["WrongKey"], flip(key, bit), iv, aad, msg, ct, tag)

    def wrong_sizes(self):
        """Nonces and keys of sizes that an algorithm with a key of 32 bytes does not have."""
        stream = self.file.stream
        other = 24 if self.iv_size == 12 else 12
        for size in (0, 8, 11, 13, 15, 16, 17, 23, 25, other, 32):
            key, iv, aad, msg = stream.bytes(32), stream.bytes(size), stream.bytes(9), stream.bytes(20)
            ct, tag = self.seal(key, fit(iv, self.iv_size), aad, msg)
            self.bad(f"nonce of {size} bytes", ["InvalidIvSize"], key, iv, aad, msg, ct, tag)
        for size in (0, 8, 15, 16, 17, 24, 31, 33, 64):
            key, iv, aad, msg = (
                stream.bytes(size),
                stream.bytes(self.iv_size),
                stream.bytes(9),
                stream.bytes(20),
            )
            ct, tag = self.seal(fit(key, 32), iv, aad, msg)
            self.bad(f"key of {size} bytes", ["InvalidKeySize"], key, iv, aad, msg, ct, tag)
