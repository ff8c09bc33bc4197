"""Ed25519: RFC 8032 and our own, with the signatures on which implementations differ."""

from reference import library, pure_ed25519 as pure
from vectorfile import VectorFile, agree, flip

HEADER = [
    "Ed25519 verification (RFC 8032 section 5.1.7).",
    "valid: sig verifies for msg under the group's public key. invalid: it must not.",
    "acceptable: implementations that follow the RFC differ.",
]
LONG = (
    "08b8b2b733424243760fe426a4b54908632110a66c2f6591eabd3345e3e4eb98fa6e264bf09efe12ee50f8f54e9f77b1"
    "e355f6c50544e23fb1433ddf73be84d879de7c0046dc4996d9e773f4bc9efe5738829adb26c81b37c93a1b270b20329d"
    "658675fc6ea534e0810a4432826bf58c941efb65d57a338bbd2e26640f89ffbc1a858efcb8550ee3a5e1998bd177e93a"
    "7363c344fe6b199ee5d02e82d522c4feba15452f80288a821a579116ec6dad2b3b310da903401aa62100ab5d1a36553e"
    "06203b33890cc9b832f79ef80560ccb9a39ce767967ed628c6ad573cb116dbefefd75499da96bd68a8a97b928a8bbc10"
    "3b6621fcde2beca1231d206be6cd9ec7aff6f6c94fcd7204ed3455c68c83f4a41da4af2b74ef5c53f1d8ac70bdcb7ed1"
    "85ce81bd84359d44254d95629e9855a94a7c1958d1f8ada5d0532ed8a5aa3fb2d17ba70eb6248e594e1a2297acbbb39d"
    "502f1a8c6eb6f1ce22b3de1a1f40cc24554119a831a9aad6079cad88425de6bde1a9187ebb6092cf67bf2b13fd65f270"
    "88d78b7e883c8759d2c4f5c65adb7553878ad575f9fad878e80a0c9ba63bcbcc2732e69485bbc9c90bfbd62481d9089b"
    "eccf80cfe2df16a2cf65bd92dd597b0707e0917af48bbb75fed413d238f5555a7a569d80c3414a8d0859dc65a46128ba"
    "b27af87a71314f318c782b23ebfe808b82b0ce26401d2e22f04d83d1255dc51addd3b75a2b1ae0784504df543af8969b"
    "e3ea7082ff7fc9888c144da2af58429ec96031dbcad3dad9af0dcbaaaf268cb8fcffead94f3c7ca495e056a9b47acdb7"
    "51fb73e666c6c655ade8297297d07ad1ba5e43f1bca32301651339e22904cc8c42f58c30c04aafdb038dda0847dd988d"
    "cda6f3bfd15c4b4c4525004aa06eeff8ca61783aacec57fb3d1f92b0fe2fd1a85f6724517b65e614ad6808d6f6ee34df"
    "f7310fdc82aebfd904b01e1dc54b2927094b2db68d6f903b68401adebf5a7e08d78ff4ef5d63653a65040cf9bfd4aca7"
    "984a74d37145986780fc0b16ac451649de6188a7dbdf191f64b5fc5e2ab47b57f7f7276cd419c17a3ca8e1b939ae49e4"
    "88acba6b965610b5480109c8b17b80e1b7b750dfc7598d5d5011fd2dcc5600a32ef5b52a1ecc820e308aa342721aac09"
    "43bf6686b64b2579376504ccc493d97e6aed3fb0f9cd71a43dd497f01f17c0e2cb3797aa2a2f256656168e6c496afc5f"
    "b93246f6b1116398a346f1a641f3b041e989f7914f90cc2c7fff357876e506b50d334ba77c225bc307ba537152f3f161"
    "0e4eafe595f6d9d90d11faa933a15ef1369546868a7f3a45a96768d40fd9d03412c091c6315cf4fde7cb68606937380d"
    "b2eaaa707b4c4185c32eddcdd306705e4dc1ffc872eeee475a64dfac86aba41c0618983f8741c5ef68d3a101e8a3b8ca"
    "c60c905c15fc910840b94c00a0b9d0"
)
RFC_8032 = (  # name, seed, public key, message, signature
    (
        "TEST 1",
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "TEST 2",
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "TEST 3",
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "TEST 1024",
        "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5",
        "278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e",
        LONG,
        "0aab4c900501b3e24d7cdf4663326a3a87df5e4843b2cbdb67cbf6e460fec350"
        "aa5371b1508f9f4528ecea23c436d94b5e8fcd4f681e30a6ac00a9704a188a03",
    ),
    (
        "TEST SHA(abc)",
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
        "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
)


def key_fields(public):
    fields = {"type": "EDDSAPublicKey", "curve": "edwards25519", "keySize": 255, "pk": public.hex()}
    if len(public) != 32:
        return {"publicKey": fields}
    return {"publicKey": fields, "publicKeyDer": "302a300506032b6570032100" + public.hex()}


def files():
    file = VectorFile("ed25519", "EDDSA", "fields of eddsa_verify_schema_v1.json", "EddsaVerify", HEADER)
    for name, seed, public, msg, sig in RFC_8032:
        seed, public, msg, sig = map(bytes.fromhex, (seed, public, msg, sig))
        agree(public, pure.public_key(seed), library.ed25519_public_key(seed))
        agree(sig, pure.sign(seed, msg), library.ed25519_sign(seed, msg))
        file.published("RFC 8032 section 7.1", **key_fields(public)).valid(
            name, ["Published"], msg=msg, sig=sig
        )
    for number in range(2):
        good_and_modified(file, file.stream.bytes(32), number == 0)
    malleable(file)
    bad_keys(file)
    small_order_keys(file)
    small_order_r(file)
    return [file]


def bad(file, public, comment, flag, msg, sig):
    assert not pure.verify(public, msg, sig) and not library.ed25519_verify(public, msg, sig), comment
    file.own(**key_fields(public)).invalid(comment, [flag], msg=msg, sig=sig)


def good_and_modified(file, seed, everything):
    stream, public = file.stream, pure.public_key(seed)
    into = file.own(**key_fields(public))
    sizes = (
        (0, 1, 2, 8, 16, 31, 32, 33, 47, 48, 63, 64, 65, 111, 112, 127, 128, 129, 1024)
        if everything
        else (4, 55, 56)
    )
    for size in sizes:
        msg = stream.bytes(size)
        sig = agree(pure.sign(seed, msg), library.ed25519_sign(seed, msg))
        assert pure.verify(public, msg, sig) and library.ed25519_verify(public, msg, sig)
        into.valid(f"message of {size} bytes", ["Pseudorandom"], msg=msg, sig=sig)
    msg = stream.bytes(24)
    sig = pure.sign(seed, msg)
    changed = "ModifiedSignature"
    for bit in (0, 1, 100, 248, 254, 256, 257, 300, 400, 504, 508):
        bad(file, public, f"bit {bit} of the signature flipped", changed, msg, flip(sig, bit))
    bad(file, public, "R and S exchanged", changed, msg, sig[32:] + sig[:32])
    bad(file, public, "S of zeros", changed, msg, sig[:32] + bytes(32))
    bad(file, public, "R of zeros", changed, msg, bytes(32) + sig[32:])
    bad(file, public, "signature of zeros", changed, msg, bytes(64))
    bad(file, public, "signature of ones", changed, msg, b"\xff" * 64)
    bad(file, public, "R is the public key", changed, msg, public + sig[32:])
    bad(file, public, "R negated", changed, msg, flip(sig, 255)[:32] + sig[32:])
    bad(
        file,
        public,
        "S negated",
        changed,
        msg,
        sig[:32] + (pure.L - int.from_bytes(sig[32:], "little")).to_bytes(32, "little"),
    )
    bad(file, public, "R and S in big-endian order", changed, msg, sig[31::-1] + sig[:31:-1])
    for comment, other in (
        ("first bit flipped", flip(msg, 0)),
        ("last bit flipped", flip(msg, 191)),
        ("empty", b""),
        ("cut by a byte", msg[:-1]),
        ("a zero byte longer", msg + b"\0"),
    ):
        bad(file, public, "message " + comment, "ModifiedMessage", other, sig)
    for size in (0, 1, 31, 32, 33, 48, 63):
        bad(file, public, f"signature of {size} bytes", "InvalidSignatureSize", msg, sig[:size])
    for extra in (1, 32, 64):
        bad(file, public, f"signature of {64 + extra} bytes", "InvalidSignatureSize", msg, sig + bytes(extra))
    bad(file, public, "signature of another key", "WrongKey", msg, pure.sign(stream.bytes(32), msg))
    if everything:
        wrong = "WrongConstruction"
        context = b"SigEd25519 no Ed25519 collisions"
        bad(file, public, "signature of Ed25519ctx", wrong, msg, pure.sign(seed, msg, context + b"\0\3foo"))
        hashed = library.digest("sha512", msg)
        bad(file, public, "signature of Ed25519ph", wrong, msg, pure.sign(seed, hashed, context + b"\1\0"))
        bad(file, public, "signature of the message's SHA-512", wrong, msg, pure.sign(seed, hashed))
        bad(file, public, "signature of the message in hex", wrong, msg, pure.sign(seed, msg.hex().encode()))
        scalar, _ = pure.expand(seed)
        nonce = int.from_bytes(stream.bytes(32), "little") % pure.L
        r = pure.encode(pure.multiply(nonce, pure.BASE))
        k = int.from_bytes(library.digest("sha512", r + msg), "little") % pure.L
        bad(
            file,
            public,
            "public key left out of the hash",
            wrong,
            msg,
            r + ((nonce + k * scalar) % pure.L).to_bytes(32, "little"),
        )


def malleable(file):
    stream = file.stream
    seed, msg = stream.bytes(32), stream.bytes(16)
    public, sig = pure.public_key(seed), pure.sign(seed, msg)
    file.own(**key_fields(public)).valid(
        "the signature that the next ones are made of", ["Pseudorandom"], msg=msg, sig=sig
    )
    s = int.from_bytes(sig[32:], "little")
    for times in (1, 2, 3, 7, 8, 14):
        bad(
            file,
            public,
            f"S raised by {times} times the order",
            "Malleability",
            msg,
            sig[:32] + (s + times * pure.L).to_bytes(32, "little"),
        )
    for comment, value in (
        ("the order", pure.L),
        ("the order and 1", pure.L + 1),
        ("2^252 with low part set", (1 << 253) - 1),
        ("2^255 - 1", (1 << 255) - 1),
        ("2^256 - 1", (1 << 256) - 1),
    ):
        bad(file, public, f"S is {comment}", "Malleability", msg, sig[:32] + value.to_bytes(32, "little"))


def bad_keys(file):
    stream = file.stream
    seed, msg = stream.bytes(32), stream.bytes(16)
    public, sig = pure.public_key(seed), pure.sign(seed, msg)
    for size in (0, 1, 31, 33, 64):
        key = (public + bytes(32))[:size]
        bad(file, key, f"public key of {size} bytes", "InvalidKeySize", msg, sig)
    bad(file, flip(public, 255), "sign of the public key flipped", "WrongKey", msg, sig)
    bad(file, flip(public, 3), "a bit of the public key flipped", "WrongKey", msg, sig)
    found = 0
    while found < 3:
        key = stream.bytes(32)
        try:
            pure.decode(key)
        except ValueError:
            found += 1
            bad(file, key, f"public key that is no point, {found}", "InvalidEncoding", msg, sig)
    for value in (pure.P, pure.P + 1, pure.P + 18):
        bad(
            file,
            value.to_bytes(32, "little"),
            f"public key with y = 2^255 - 19 + {value - pure.P}",
            "NonCanonical",
            msg,
            sig,
        )


def small_order_keys(file):
    """For a public key of small order anybody finds signatures that fit the equation. They must be refused."""
    stream = file.stream
    torsion = pure.torsion_points()
    identity_twin = (pure.P + 1).to_bytes(32, "little")
    candidates = [
        (f"public key of order {order}", pure.encode(torsion[index]), torsion[index])
        for index, order in ((0, 1), (1, 8), (2, 4), (3, 8), (4, 2), (5, 8), (6, 4), (7, 8))
    ]
    candidates += [
        ("identity as public key, y not reduced", identity_twin, torsion[0]),
        ("identity as public key, sign bit set", flip(pure.encode(torsion[0]), 255), torsion[0]),
    ]
    for comment, public, point in candidates:
        for number in range(2):
            msg = stream.bytes(8)
            while (
                True
            ):  # R = nonce * B satisfies the equation when the challenge is a multiple of the key's order
                nonce = int.from_bytes(stream.bytes(32), "little") % pure.L
                r = pure.encode(pure.multiply(nonce, pure.BASE))
                if pure.multiply(pure.challenge(r, public, msg), point) == pure.IDENTITY:
                    break
            file.own(**key_fields(public)).invalid(
                f"{comment}, forgery {number + 1}",
                ["SmallOrderKey"],
                msg=msg,
                sig=r + nonce.to_bytes(32, "little"),
            )


def small_order_r(file):
    """Signatures that the holder of the key makes with an R of small order, or shifted by one."""
    stream = file.stream
    torsion = pure.torsion_points()
    seed = stream.bytes(32)
    scalar, _ = pure.expand(seed)
    public = pure.public_key(seed)
    for order, index in ((1, 0), (2, 4), (8, 1)):
        msg = stream.bytes(8)
        r = pure.encode(torsion[index])
        s = pure.challenge(r, public, msg) * scalar % pure.L
        file.own(**key_fields(public)).acceptable(
            f"R of order {order}", ["SmallOrderR"], msg=msg, sig=r + s.to_bytes(32, "little")
        )
        if index:
            nonce = int.from_bytes(stream.bytes(32), "little") % pure.L
            r = pure.encode(pure.add(pure.multiply(nonce, pure.BASE), torsion[index]))
            s = (nonce + pure.challenge(r, public, msg) * scalar) % pure.L
            file.own(**key_fields(public)).acceptable(
                f"R shifted by a point of order {order}: right only with the cofactor",
                ["SmallOrderR"],
                msg=msg,
                sig=r + s.to_bytes(32, "little"),
            )
    msg, r = stream.bytes(8), (pure.P + 1).to_bytes(32, "little")
    s = pure.challenge(r, public, msg) * scalar % pure.L
    bad(file, public, "R is the identity, y not reduced", "NonCanonical", msg, r + s.to_bytes(32, "little"))
