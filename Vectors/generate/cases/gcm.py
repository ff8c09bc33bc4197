"""AES-GCM: the specification's test cases and our own."""

from cases import aead
from reference import library, pure_aes
from vectorfile import LARGE_SIZES, WRONG_AES_KEY_SIZES, VectorFile, agree, fit_aes_key

SOURCE = "McGrew, Viega: The Galois/Counter Mode of Operation (GCM), Appendix B"
KEY = "feffe9928665731c6d6a8f9467308308"
LONG = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
)
AAD = "feedfacedeadbeeffeedfacedeadbeefabaddad2"
IV_96 = "cafebabefacedbaddecaf888"
IV_64 = "cafebabefacedbad"
IV_480 = (
    "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728"
    "c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b"
)
ZERO = "00" * 16

CASES = (  # number, key, iv, aad, plaintext, ciphertext, tag
    (1, ZERO, "00" * 12, "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"),
    (2, ZERO, "00" * 12, "", ZERO, "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"),
    (
        3,
        KEY,
        IV_96,
        "",
        LONG,
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
        "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
        "4d5c2af327cd64a62cf35abd2ba6fab4",
    ),
    (
        4,
        KEY,
        IV_96,
        AAD,
        LONG[:120],
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
        "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
        "5bc94fbc3221a5db94fae95ae7121a47",
    ),
    (
        5,
        KEY,
        IV_64,
        AAD,
        LONG[:120],
        "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423"
        "73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598",
        "3612d2e79e3b0785561be14aaca2fccb",
    ),
    (
        6,
        KEY,
        IV_480,
        AAD,
        LONG[:120],
        "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca7"
        "01e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5",
        "619cc5aefffe0bfa462af43c1699d050",
    ),
    (7, ZERO + ZERO[:16], "00" * 12, "", "", "", "cd33b28ac773f74ba00ed1f312572435"),
    (
        8,
        ZERO + ZERO[:16],
        "00" * 12,
        "",
        ZERO,
        "98e7247c07f0fe411c267e4384b0f600",
        "2ff58d80033927ab8ef4d4587514f0fb",
    ),
    (
        9,
        KEY + KEY[:16],
        IV_96,
        "",
        LONG,
        "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c"
        "7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710acade256",
        "9924a7c8587336bfb118024db8674a14",
    ),
    (
        10,
        KEY + KEY[:16],
        IV_96,
        AAD,
        LONG[:120],
        "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c"
        "7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710",
        "2519498e80f1478f37ba55bd6d27618c",
    ),
    (
        11,
        KEY + KEY[:16],
        IV_64,
        AAD,
        LONG[:120],
        "0f10f599ae14a154ed24b36e25324db8c566632ef2bbb34f8347280fc4507057"
        "fddc29df9a471f75c66541d4d4dad1c9e93a19a58e8b473fa0f062f7",
        "65dcc57fcf623a24094fcca40d3533f8",
    ),
    (
        12,
        KEY + KEY[:16],
        IV_480,
        AAD,
        LONG[:120],
        "d27e88681ce3243c4830165a8fdcf9ff1de9a1d8e6b447ef6ef7b79828666e45"
        "81e79012af34ddd9e2f037589b292db3e67c036745fa22e7e9b7373b",
        "dcf566ff291c25bbb8568fc3d376a6d9",
    ),
    (13, ZERO + ZERO, "00" * 12, "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
    (
        14,
        ZERO + ZERO,
        "00" * 12,
        "",
        ZERO,
        "cea7403d4d606b6e074ec5d3baf39d18",
        "d0d1c8a799996bf0265b98b5d48ab919",
    ),
    (
        15,
        KEY + KEY,
        IV_96,
        "",
        LONG,
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
        "b094dac5d93471bdec1a502270e3cc6c",
    ),
    (
        16,
        KEY + KEY,
        IV_96,
        AAD,
        LONG[:120],
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
        "76fc6ece0f4e1768cddf8853bb2d551b",
    ),
    (
        17,
        KEY + KEY,
        IV_64,
        AAD,
        LONG[:120],
        "c3762df1ca787d32ae47c13bf19844cbaf1ae14d0b976afac52ff7d79bba9de0"
        "feb582d33934a4f0954cc2363bc73f7862ac430e64abe499f47c9b1f",
        "3a337dbf46a792c45e454913fe2ea8f2",
    ),
    (
        18,
        KEY + KEY,
        IV_480,
        AAD,
        LONG[:120],
        "5a8def2f0c9e53f1f75d7853659e2a20eeb2b22aafde6419a058ab4f6f746bf4"
        "0fc0c3b780f244452da3ebf1c5d82cdea2418997200ef82e44ae7e3f",
        "a44a8266ee1c8eb0c8b5d4cf5ae9f19a",
    ),
)


def files():
    file = VectorFile(
        "aes-gcm",
        "AES-GCM",
        aead.SCHEMA,
        "AeadTest",
        aead.HEADER
        + [
            "Our interface takes 96-bit IVs and 128-bit tags only: a group with another tagSize is invalid, and a valid",
            "group with another ivSize is skipped with the code unsupported-iv-size.",
        ],
    )
    gcm = aead.Aead(
        file, 12, (pure_aes.gcm_encrypt, library.gcm_encrypt), (pure_aes.gcm_decrypt, library.gcm_decrypt)
    )
    published(file, gcm)
    for key_size in (16, 24, 32):
        gcm.sizes(key_size, LARGE_SIZES[key_size // 8 - 2 :: 3])
        chosen_tags(gcm, key_size)
        gcm.modified(key_size)
        wrong_constructions(gcm, key_size)
        wrong_iv_sizes(gcm, key_size)
    wrong_key_sizes(gcm)
    return [file]


def published(file, gcm):
    for number, *fields in CASES:
        key, iv, aad, msg, ct, tag = map(bytes.fromhex, fields)
        assert gcm.seal(key, iv, aad, msg) == (ct, tag), number
        flags = ["Published"] if len(iv) == 12 else ["Published", "UnsupportedIvSize"]
        group = file.published(SOURCE, ivSize=8 * len(iv), keySize=8 * len(key), tagSize=128)
        group.valid(f"test case {number}", flags, key=key, iv=iv, aad=aad, msg=msg, ct=ct, tag=tag)


def chosen_tags(gcm, key_size):
    """Messages whose tag is a chosen value, found by solving GHASH for one block of ciphertext."""
    stream = gcm.file.stream
    for name, wanted in (
        ("zeros", bytes(16)),
        ("ones", b"\xff" * 16),
        ("a single one", b"\x80" + bytes(15)),
        ("zeros in its first half", bytes(8) + stream.bytes(8)),
    ):
        key, iv, aad, first = stream.bytes(key_size), stream.bytes(12), stream.bytes(16), stream.bytes(16)
        cipher, h, counter = pure_aes.gcm_start(key, iv)
        inverse = pure_aes.gcm_invert(h)
        total = pure_aes.number(pure_aes.xor(wanted, cipher.encrypt(counter)))
        lengths = pure_aes.number(pure_aes.gcm_lengths(aad, bytes(32)))
        before = pure_aes.gcm_multiply(pure_aes.gcm_multiply(total, inverse) ^ lengths, inverse)
        second = (before ^ pure_aes.ghash(h, aad + first)).to_bytes(16, "big")
        msg = pure_aes.gcm_stream(cipher, counter, first + second)
        assert gcm.seal(key, iv, aad, msg)[1] == wanted
        gcm.good(f"tag of {name}", ["EdgeCase"], key, iv, aad, msg)


def wrong_constructions(gcm, key_size):
    """What nearly right implementations of GCM would make."""
    stream = gcm.file.stream

    def case(comment, build):
        key, iv, aad, msg = stream.bytes(key_size), stream.bytes(12), stream.bytes(20), stream.bytes(35)
        cipher, h, counter = pure_aes.gcm_start(key, iv)
        ct, tag = build(key, cipher, h, counter, aad, msg)
        gcm.bad(comment, ["WrongConstruction"], key, iv, aad, msg, ct, tag)

    def tag_over(cipher, counter, h, data):
        return pure_aes.xor(pure_aes.ghash(h, data).to_bytes(16, "big"), cipher.encrypt(counter))

    def whole(data):
        return data + bytes(-len(data) % 16)

    def no_lengths(key, cipher, h, counter, aad, msg):
        ct = pure_aes.gcm_stream(cipher, counter, msg)
        return ct, tag_over(cipher, counter, h, whole(aad) + whole(ct))

    def byte_lengths(key, cipher, h, counter, aad, msg):
        ct = pure_aes.gcm_stream(cipher, counter, msg)
        lengths = len(aad).to_bytes(8, "big") + len(ct).to_bytes(8, "big")
        return ct, tag_over(cipher, counter, h, whole(aad) + whole(ct) + lengths)

    def over_plaintext(key, cipher, h, counter, aad, msg):
        ct = pure_aes.gcm_stream(cipher, counter, msg)
        return ct, tag_over(cipher, counter, h, whole(aad) + whole(msg) + pure_aes.gcm_lengths(aad, ct))

    def raw_ghash(key, cipher, h, counter, aad, msg):
        ct = pure_aes.gcm_stream(cipher, counter, msg)
        data = whole(aad) + whole(ct) + pure_aes.gcm_lengths(aad, ct)
        return ct, pure_aes.ghash(h, data).to_bytes(16, "big")

    def counter_zero(key, cipher, h, counter, aad, msg):
        _, tag = pure_aes.gcm_encrypt(key, counter[:12], aad, msg)
        return pure_aes.gcm_stream(cipher, counter[:12] + bytes(4), msg), tag

    case("tag without the lengths block", no_lengths)
    case("tag with lengths in bytes", byte_lengths)
    case("tag over the plaintext", over_plaintext)
    case("tag not encrypted", raw_ghash)
    case("encrypted from the counter of the tag", counter_zero)


def wrong_iv_sizes(gcm, key_size):
    """Right by SP 800-38D except for 0, refused by our interface."""
    stream = gcm.file.stream
    for size in (0, 8, 11, 13, 15, 16, 17):
        key, iv, aad, msg = stream.bytes(key_size), stream.bytes(size), stream.bytes(9), stream.bytes(20)
        ct, tag = pure_aes.gcm_encrypt(key, iv, aad, msg)
        if size >= 8:
            agree((ct, tag), library.gcm_encrypt(key, iv, aad, msg))
        gcm.unchecked_bad(f"IV of {size} bytes", ["InvalidIvSize"], key, iv, aad, msg, ct, tag)


def wrong_key_sizes(gcm):
    stream = gcm.file.stream
    for size in WRONG_AES_KEY_SIZES:
        key, iv, aad, msg = stream.bytes(size), stream.bytes(12), stream.bytes(9), stream.bytes(20)
        ct, tag = gcm.seal(fit_aes_key(key), iv, aad, msg)
        gcm.bad(f"key of {size} bytes", ["InvalidKeySize"], key, iv, aad, msg, ct, tag)
