"""AES key wrap (RFC 3394) and AES key wrap with padding (RFC 5649)."""

from reference import library, pure_aes
from vectorfile import WRONG_AES_KEY_SIZES, VectorFile, agree, fit_aes_key, flip, refused

SCHEMA = "fields of keywrap_test_schema_v1.json"
HEADER = [
    "Wrapping of key material.",
    "valid: wrapping msg under key gives ct and unwrapping ct gives msg.",
    "invalid: unwrapping must be refused; msg is what was wrapped.",
]
KEK = bytes(range(32))
DATA = bytes.fromhex("00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f")
RFC_3394 = (  # section, KEK size, data size, ciphertext
    ("4.1", 16, 16, "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5"),
    ("4.2", 24, 16, "96778b25ae6ca435f92b5b97c050aed2468ab8a17ad84e5d"),
    ("4.3", 32, 16, "64e8c3f9ce0f5ba263e9777905818a2a93c8191e7d6e8ae7"),
    ("4.4", 24, 24, "031d33264e15d33268f24ec260743edce1c6c7ddee725a936ba814915c6762d2"),
    ("4.5", 32, 24, "a8f9bc1612c68b3ff6e6f4fbe30e71e4769c8b80a32cb8958cd5d17d6b254da1"),
    ("4.6", 32, 32, "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"),
)
RFC_5649_KEK = bytes.fromhex("5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8")
RFC_5649 = (
    (
        "20 octets",
        "c37b7e6492584340bed12207808941155068f738",
        "138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a",
    ),
    ("7 octets", "466f7250617369", "afbeb0f07dfbf5419200f2ccb50bb24f"),
)


def files():
    return [plain_file(), padded_file()]


class Wrapping:
    def __init__(self, file, wraps, unwraps):
        self.file, self.wraps, self.unwraps = file, wraps, unwraps

    def wrap(self, key, msg):
        return agree(*(wrap(key, msg) for wrap in self.wraps))

    def good(self, comment, flags, key, msg):
        ct = self.wrap(key, msg)
        agree(msg, *(unwrap(key, ct) for unwrap in self.unwraps))
        self.file.own(keySize=8 * len(key)).valid(comment, flags, key=key, msg=msg, ct=ct)

    def bad(self, comment, flag, key, msg, ct):
        refused(*(lambda u=u: u(key, ct) for u in self.unwraps))
        self.file.own(keySize=8 * len(key)).invalid(comment, [flag], key=key, msg=msg, ct=ct)

    def modified(self, key_size, msg_size):
        stream = self.file.stream
        key, msg = stream.bytes(key_size), stream.bytes(msg_size)
        ct = self.wrap(key, msg)
        for byte in range(0, len(ct), 3):
            self.bad(
                f"{msg_size} bytes wrapped, byte {byte} of the result changed",
                "ModifiedCiphertext",
                key,
                msg,
                flip(ct, 8 * byte + stream.below(8)),
            )
        self.bad("last 8 bytes dropped", "InvalidCiphertextSize", key, msg, ct[:-8])
        self.bad("first 8 bytes dropped", "InvalidCiphertextSize", key, msg, ct[8:])
        self.bad("8 zero bytes added", "InvalidCiphertextSize", key, msg, ct + bytes(8))
        for size in (0, 1, 7, 8, 15, 17, len(ct) - 1):
            self.bad(f"{size} bytes left", "InvalidCiphertextSize", key, msg, ct[:size])
        self.bad("1 byte added", "InvalidCiphertextSize", key, msg, ct + b"\0")
        self.bad("semi-blocks exchanged", "ModifiedCiphertext", key, msg, ct[:-16] + ct[-8:] + ct[-16:-8])
        self.bad("one bit of the key flipped", "WrongKey", flip(key, 8 * key_size - 1), msg, ct)
        self.bad("another key", "WrongKey", stream.bytes(key_size), msg, ct)

    def wrong_key_sizes(self):
        stream = self.file.stream
        for size in WRONG_AES_KEY_SIZES:
            key, msg = stream.bytes(size), stream.bytes(32)
            self.bad(
                f"wrapping key of {size} bytes", "InvalidKeySize", key, msg, self.wrap(fit_aes_key(key), msg)
            )


def plain_file():
    file = VectorFile("aes-wrap", "AES-WRAP", SCHEMA, "KeywrapTest", HEADER)
    kw = Wrapping(file, (pure_aes.wrap, library.wrap), (pure_aes.unwrap, library.unwrap))
    stream = file.stream
    for section, key_size, size, ct in RFC_3394:
        assert kw.wrap(KEK[:key_size], DATA[:size]).hex() == ct
        file.published("RFC 3394 section 4", keySize=8 * key_size).valid(
            f"section {section}", ["Published"], key=KEK[:key_size], msg=DATA[:size], ct=ct
        )
    for key_size in (16, 24, 32):
        for size in (16, 24, 32, 40, 48, 56, 64, 128, 512):
            kw.good(f"{size} bytes wrapped", ["Pseudorandom"], stream.bytes(key_size), stream.bytes(size))
        kw.good("zeros wrapped", ["EdgeCase"], stream.bytes(key_size), bytes(32))
        kw.good("ones wrapped", ["EdgeCase"], stream.bytes(key_size), b"\xff" * 32)
        kw.good("the initial value wrapped", ["EdgeCase"], stream.bytes(key_size), pure_aes.WRAP_IV * 2)
        # 43 semi-blocks take 258 steps: the step counter needs a second byte.
        kw.good("more than 255 steps", ["EdgeCase"], stream.bytes(key_size), stream.bytes(344))
        kw.modified(key_size, (16, 24, 32)[key_size // 8 - 2])
        for iv in (
            "0000000000000000",
            "ffffffffffffffff",
            "a6a6a6a6a6a6a6a7",
            "26a6a6a6a6a6a6a6",
            "a6a6a6a600000000",
            "5959595959595959",
            "a65959a600000020",
        ):
            key, msg = stream.bytes(key_size), stream.bytes(32)
            kw.bad(
                f"initial value {iv}",
                "WrongIntegrityValue",
                key,
                msg,
                pure_aes.wrap_raw(key, bytes.fromhex(iv), msg),
            )
        key, msg = stream.bytes(key_size), stream.bytes(32)
        kw.bad(
            "wrapped with padding (RFC 5649)", "WrongConstruction", key, msg, pure_aes.wrap_padded(key, msg)
        )
        key, msg = stream.bytes(key_size), stream.bytes(8)
        kw.bad("one semi-block wrapped", "ShortKey", key, msg, pure_aes.wrap_raw(key, pure_aes.WRAP_IV, msg))
        kw.bad("nothing wrapped", "ShortKey", key, b"", pure_aes.WRAP_IV)
        for size in (1, 9, 20):
            key, msg = stream.bytes(key_size), stream.bytes(size)
            ct = pure_aes.wrap_raw(key, pure_aes.WRAP_IV, msg + bytes(24 - size))[: size + 8]
            kw.bad(f"{size} bytes cannot be wrapped, nor {size + 8} unwrapped", "ShortKey", key, msg, ct)
    kw.wrong_key_sizes()
    return file


def padded_file():
    file = VectorFile("aes-kwp", "AES-KWP", SCHEMA, "KeywrapTest", HEADER)
    kwp = Wrapping(
        file, (pure_aes.wrap_padded, library.wrap_padded), (pure_aes.unwrap_padded, library.unwrap_padded)
    )
    stream = file.stream
    for comment, msg, ct in RFC_5649:
        msg = bytes.fromhex(msg)
        assert kwp.wrap(RFC_5649_KEK, msg).hex() == ct
        file.published("RFC 5649 section 6", keySize=192).valid(
            comment, ["Published"], key=RFC_5649_KEK, msg=msg, ct=ct
        )
    for key_size in (16, 24, 32):
        for size in (*range(1, 18), 20, 24, 31, 32, 33, 40, 63, 64, 65, 300):
            kwp.good(f"{size} bytes wrapped", ["Pseudorandom"], stream.bytes(key_size), stream.bytes(size))
        for size in (7, 12, 16):
            kwp.good(f"{size} zero bytes wrapped", ["EdgeCase"], stream.bytes(key_size), bytes(size))
        kwp.good("more than 255 steps", ["EdgeCase"], stream.bytes(key_size), stream.bytes(343))
        kwp.modified(key_size, (20, 24, 29)[key_size // 8 - 2])
        short = stream.bytes(key_size)
        for byte in (0, 5, 10, 15):
            msg = stream.bytes(7)
            kwp.bad(
                f"7 bytes wrapped, byte {byte} of the result changed",
                "ModifiedCiphertext",
                short,
                msg,
                flip(kwp.wrap(short, msg), 8 * byte),
            )
        wrong_values(kwp, key_size)
    kwp.wrong_key_sizes()
    return file


def wrong_values(kwp, key_size):
    stream = kwp.file.stream

    def case(comment, flag, msg, constant, length, padding):
        key = stream.bytes(key_size)
        iv = bytes.fromhex(constant) + length.to_bytes(4, "big")
        kwp.bad(comment, flag, key, msg, pure_aes.wrap_padded_raw(key, iv, msg + padding))

    for size in (5, 13, 20):
        rest = -size % 8
        for constant in ("00000000", "ffffffff", "a65959a7", "a6a6a6a6", "265959a6"):
            case(
                f"{size} bytes, constant {constant}",
                "WrongIntegrityValue",
                stream.bytes(size),
                constant,
                size,
                bytes(rest),
            )
        whole = size + rest
        for length in (0, whole - 8, whole + 1, whole + 8, size + (1 << 31), 0xFFFFFFFF):
            case(
                f"{size} bytes, length field {length}",
                "WrongLength",
                stream.bytes(size),
                "a65959a6",
                length,
                bytes(rest),
            )
        for place in (0, rest - 1):
            padding = bytearray(rest)
            padding[place] = 1 + stream.below(255)
            case(
                f"{size} bytes, padding byte {place} not zero",
                "NonZeroPadding",
                stream.bytes(size),
                "a65959a6",
                size,
                bytes(padding),
            )
        case(
            f"{size} bytes, length field in little-endian order",
            "WrongConstruction",
            stream.bytes(size),
            "a65959a6",
            size << 24,
            bytes(rest),
        )
    case("a whole semi-block of padding, 8 bytes", "WrongLength", stream.bytes(8), "a65959a6", 8, bytes(8))
    case("a whole semi-block of padding, 16 bytes", "WrongLength", stream.bytes(16), "a65959a6", 16, bytes(8))
    case(
        "initial value of the wrap without padding",
        "WrongConstruction",
        stream.bytes(16),
        "a6a6a6a6",
        0xA6A6A6A6,
        b"",
    )
    case("nothing wrapped", "WrongLength", b"", "a65959a6", 0, bytes(8))
