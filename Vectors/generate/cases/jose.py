"""Signed tokens, thumbprints of keys and proof keys for code exchange: RFC 7636, 7638, 8037, 9449 and our own."""

import base64
import hashlib
import json

from reference import library, pure_ed25519 as ed25519, pure_p256 as p256, pure_rsa as rsa
from vectorfile import VectorFile, agree, flip

RFC_7638_N = (
    "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMst"
    "n64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajr"
    "n1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
)
RFC_9449_KEY = {
    "kty": "EC", "crv": "P-256", "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
    "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
}
RFC_9449_PROOF = (
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQy"
    "VVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiIt"
    "QndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2"
    "fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
)
REQUIRED = {"EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n"), "OKP": ("crv", "kty", "x")}


def files():
    return [tokens(), thumbprints(), proof_keys()]


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def text(value):
    return json.dumps(value, separators=(",", ":")).encode()


def ec_key(public, **more):
    return {"kty": "EC", "crv": "P-256", "x": encoded(public[1:33]), "y": encoded(public[33:]), **more}


def thumbprint(key):
    members = {name: key[name] for name in REQUIRED[key["kty"]]}
    return hashlib.sha256(json.dumps(members, sort_keys=True, separators=(",", ":")).encode()).digest()


def tokens():
    header = ["Signed JSON Web Tokens: `jws` under one of `keys`, of the type `typ`, with `claims`; all as hex of text."]
    file = VectorFile("jws", "JWS", "our own", "JwsVerify", header)
    stream = file.stream
    secret = int.from_bytes(stream.bytes(31), "big")
    public, seed = p256.public_key(secret), stream.bytes(32)
    n, d = rsa.key(stream)

    def es256(message):
        r, s = p256.sign(secret, int.from_bytes(stream.bytes(31), "big"), message)
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    signers = {
        "ES256": es256,
        "RS256": lambda message: rsa.sign(n, d, rsa.pkcs1(message, 256)),
        "PS256": lambda message: rsa.sign(n, d, rsa.pss(message, 256, stream.bytes(32))),
        "EdDSA": lambda message: agree(ed25519.sign(seed, message), library.ed25519_sign(seed, message)),
    }
    rsa_key = {"kty": "RSA", "n": encoded(n.to_bytes(256, "big")), "e": "AQAB", "kid": "r", "use": "sig"}
    ec, okp = ec_key(public, kid="e", alg="ES256"), {
        "kty": "OKP", "crv": "Ed25519", "x": encoded(ed25519.public_key(seed)), "kid": "o",
    }
    keys = [rsa_key, ec, okp]
    claims = {"iss": "https://login.example.org", "sub": "ada", "aud": "client", "iat": 1700000000, "exp": 1700000300}

    def token(header, body=None, algorithm=None):
        message = encoded(header if isinstance(header, bytes) else text(header)) + "." + encoded(
            text(claims) if body is None else body
        )
        return message + "." + encoded(signers[algorithm or header["alg"]](message.encode()))

    def add(result, comment, flag, jws, among=keys, kind="JWT", expected=claims, into=None):
        into = into or file.own()
        among = among if isinstance(among, bytes) else text({"keys": among})
        into.add(result, comment, [flag], jws=jws.encode(), keys=among, typ=kind, claims=text(expected))

    names = {"ES256": "e", "RS256": "r", "PS256": "r", "EdDSA": "o"}
    for algorithm, kid in names.items():
        add("valid", algorithm, "Pseudorandom", token({"alg": algorithm, "kid": kid}))
        add("valid", algorithm + " with a type", "Pseudorandom", token({"alg": algorithm, "kid": kid, "typ": "jwt"}))
        good = token({"alg": algorithm, "kid": kid})
        head, body, signature = good.split(".")
        raw = decoded(signature)
        for comment, changed in (
            ("flipped", flip(raw, 9)), ("cut", raw[:-1]), ("of zeros", bytes(len(raw))), ("extended", raw + b"\0"),
        ):
            jws = f"{head}.{body}.{encoded(changed)}"
            add("invalid", f"{algorithm}, signature {comment}", "ModifiedSignature", jws)
        other = encoded(text({**claims, "sub": "eve"}))
        add("invalid", f"{algorithm}, claims changed", "ModifiedMessage", f"{head}.{other}.{signature}")
        add("invalid", f"{algorithm}, key not there", "WrongKey", good, [k for k in keys if k["kid"] != kid])
    good = token({"alg": "ES256", "kid": "e"})
    head, body, signature = good.split(".")
    published = file.published("RFC 9449 section 4.1")
    proof = json.loads(decoded(RFC_9449_PROOF.split(".")[1]))
    add("valid", "figure 2", "Published", RFC_9449_PROOF, [RFC_9449_KEY], "dpop+jwt", proof, published)
    add("invalid", "a proof is no token", "InvalidHeader", RFC_9449_PROOF, [RFC_9449_KEY], "JWT", proof)
    add("valid", "no name, one key for the algorithm", "EdgeCase", token({"alg": "ES256"}))
    add("valid", "keys of other kinds are ignored", "EdgeCase", good, [{"kty": "oct", "k": "AAAA"}, {}, *keys])
    add("valid", "the same key twice", "EdgeCase", good, [ec, ec])
    twin = ec_key(p256.public_key(secret + 1), kid="e", alg="ES256")
    add("invalid", "two keys of one name", "InvalidKey", good, [ec, twin])
    add("invalid", "no name, two keys", "InvalidKey", token({"alg": "ES256"}), [ec, {**twin, "kid": "f"}])
    add("invalid", "key for encryption", "InvalidKey", good, [{**ec, "use": "enc"}])
    add("invalid", "key for another algorithm", "InvalidKey", token({"alg": "PS256", "kid": "r"}), [{**rsa_key, "alg": "RS256"}])
    add("invalid", "private key in the set", "InvalidKey", good, [{**ec, "d": encoded(bytes(31) + b"\1")}])
    add("invalid", "no keys", "InvalidKey", good, [])
    add("invalid", "set without a list", "InvalidKey", good, b"{}")
    for name in ("none", "None", "HS256", "RS1", "ES384", "es256", ""):
        value = {"alg": name, "kid": "e"}
        add("invalid", f"alg {name or 'empty'}", "InvalidHeader", token(value, algorithm="ES256"))
    bare = encoded(text({"alg": "none"})) + "." + body + "."
    add("invalid", "alg none without a signature", "InvalidHeader", bare)
    point = json.dumps(ec).encode()
    message = encoded(text({"alg": "HS256", "kid": "e"})) + "." + body
    for comment, key in (("as JSON", point), ("as a point", public)):
        tag = encoded(library.hmac("sha256", key, message.encode()))
        add("invalid", f"HS256 with the public key {comment}", "InvalidHeader", f"{message}.{tag}")
    for comment, extra in (
        ("crit", {"crit": ["exp"]}), ("crit and b64", {"crit": ["b64"], "b64": False}), ("b64", {"b64": True}),
        ("crit empty", {"crit": []}), ("another type", {"typ": "logout+jwt"}), ("type of a number", {"typ": 1}),
        ("name of a number", {"kid": 1}),
    ):
        add("invalid", "header with " + comment, "InvalidHeader", token({"alg": "ES256", "kid": "e", **extra}))
    eve = {**twin, "kid": "x"}
    own = token({"alg": "ES256", "kid": "x", "jwk": eve})
    add("invalid", "key in the header", "InvalidHeader", own)
    for comment, header in (
        ("member twice", b'{"alg":"ES256","kid":"e","kid":"e"}'), ("alg twice", b'{"alg":"none","kid":"e","alg":"ES256"}'),
        ("an array", b'["ES256"]'), ("no JSON", b"ES256"), ("no alg", b'{"kid":"e"}'), ("not UTF-8", b'{"alg":"ES256","kid":"e","x":"\xff"}'),
    ):
        add("invalid", "header: " + comment, "InvalidToken", token(header, algorithm="ES256"))
    for comment, payload in (("not JSON", b"foo"), ("an array", b"[]"), ("member twice", b'{"sub":"a","sub":"b"}')):
        jws = token({"alg": "ES256", "kid": "e"}, payload)
        add("invalid", "claims: " + comment, "InvalidToken", jws)
    spoiled = signature[:-1] + chr(ord(signature[-1]) + 1)
    assert decoded(spoiled) == decoded(signature) and spoiled != signature
    for comment, jws in (
        ("empty", ""), ("two parts", f"{head}.{body}"), ("four parts", good + "."), ("no signature", f"{head}.{body}."),
        ("no header", f".{body}.{signature}"), ("no claims", f"{head}..{signature}"), ("padding", good + "=="),
        ("a space in front", " " + good), ("a line feed behind", good + "\n"), ("bits that encode nothing set", f"{head}.{body}.{spoiled}"),
        ("alphabet of plain Base64", f"{head}.{body}.{'+' + signature[1:]}"), ("JSON form", json.dumps({"payload": body})),
        ("zero bytes behind", good + "\0\0"), ("a zero byte within", f"{head}.{body[:4]}\0{body[4:]}.{signature}"),
    ):
        add("invalid", "form: " + comment, "InvalidToken", jws)
    named = token({"alg": "Ed25519", "kid": "o"}, algorithm="EdDSA")
    add("valid", "EdDSA under the name Ed25519 (RFC 9864)", "EdgeCase", named)
    add("valid", "key for Ed25519 by that name", "EdgeCase", named, [{**okp, "alg": "Ed25519"}])
    add("invalid", "Ed25519 with a key of P-256", "InvalidKey", named, [{**ec, "kid": "o"}])
    add("invalid", "alg ed25519", "InvalidHeader", token({"alg": "ed25519", "kid": "o"}, algorithm="EdDSA"))
    return file


def thumbprints():
    file = VectorFile("jwk-thumbprint", "JWK-THUMBPRINT", "our own", "JwkThumbprint", ["SHA-256 thumbprints of public keys; `jwk` is hex of JSON text."])
    stream = file.stream
    published = (
        ("RFC 7638 section 3.1", {"kty": "RSA", "n": RFC_7638_N, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"}, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
        ("RFC 8037 appendix A.3", {"kty": "OKP", "crv": "Ed25519", "x": encoded(bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))}, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
        ("RFC 9449 section 6.1", RFC_9449_KEY, "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"),
    )
    for source, key, value in published:
        agree(thumbprint(key), decoded(value))
        file.published(source).valid("the example", ["Published"], jwk=text(key), thumbprint=thumbprint(key))
    key = ec_key(p256.public_key(int.from_bytes(stream.bytes(31), "big")))
    into = file.own()
    into.valid("P-256", ["Pseudorandom"], jwk=text(key), thumbprint=thumbprint(key))
    into.valid("other members do not count", ["Pseudorandom"], jwk=text({**key, "kid": "a"}), thumbprint=thumbprint(key))
    r = published[0][1]
    modulus = decoded(r["n"])
    for comment, bad in (
        ("point off the curve", {**key, "x": key["y"]}), ("other curve", {**key, "crv": "P-384"}), ("private", {**key, "d": "AQ"}),
        ("x padded", {**key, "x": key["x"] + "="}), ("x cut", {**key, "x": encoded(decoded(key["x"])[1:])}),
        ("x of 33 bytes", {**key, "x": encoded(b"\0" + decoded(key["x"]))}), ("no y", {k: v for k, v in key.items() if k != "y"}),
        ("kind in lower case", {**key, "kty": "ec"}), ("algorithm of another kind", {**key, "alg": "RS256"}),
        ("algorithm none", {**key, "alg": "none"}), ("only for encryption", {**key, "use": "enc"}), ("only to sign", {**key, "key_ops": ["sign"]}),
        ("exponent 3", {**r, "e": "Aw"}), ("exponent 1", {**r, "e": "AQ"}), ("exponent even", {**r, "e": "AQAA"}),
        ("modulus even", {**r, "n": encoded(modulus[:-1] + b"\2")}), ("modulus of 1024 bits", {**r, "n": encoded(modulus[:128])}),
        ("modulus with a zero byte", {**r, "n": encoded(b"\0" + modulus)}), ("exponent with a zero byte", {**r, "e": "AAEAAQ"}),
        ("modulus of 512 bits", {**r, "n": encoded(modulus[:63] + b"\1")}), ("shared key", {"kty": "oct", "k": "AAAA"}),
    ):
        kind = bad["kty"] if bad["kty"] in REQUIRED and set(REQUIRED[bad["kty"]]) <= set(bad) else None
        value = thumbprint(bad) if kind else bytes(32)
        into.invalid(comment, ["InvalidKey"], jwk=text(bad), thumbprint=value)
    into.invalid("of the members in another order", ["ModifiedOutput"], jwk=text(key), thumbprint=hashlib.sha256(text(key)).digest())
    return file


def proof_keys():
    file = VectorFile("pkce", "PKCE-S256", "our own", "PkceTest", ["Challenges of code verifiers (RFC 7636), both as hex of text."])
    stream, into = file.stream, file.own()

    def challenge(verifier):
        return encoded(hashlib.sha256(verifier).digest()).encode()

    verifier = b"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    agree(challenge(verifier), b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    file.published("RFC 7636 appendix B").valid("the example", ["Published"], verifier=verifier, challenge=challenge(verifier))
    for size in (32, 33, 64, 96):
        value = encoded(stream.bytes(size)).encode()
        into.valid(f"{len(value)} characters", ["Pseudorandom"], verifier=value, challenge=challenge(value))
    value = b"-._~" * 11
    into.valid("only signs", ["EdgeCase"], verifier=value, challenge=challenge(value))
    for comment, bad in (
        ("empty", b""), ("42 characters", verifier[:-1]), ("129 characters", b"a" * 129), ("a space", verifier + b" "),
        ("padding", verifier + b"="), ("plus", verifier + b"+"), ("slash", verifier + b"/"), ("percent", verifier + b"%41"),
        ("a zero byte", verifier + b"\0"), ("outside ASCII", verifier + b"\xc3\xa4"),
    ):
        into.invalid(comment, ["InvalidVerifier"], verifier=bad, challenge=challenge(bad))
    into.invalid("the verifier itself", ["WrongConstruction"], verifier=verifier, challenge=verifier)
    hexed = encoded(hashlib.sha256(verifier).hexdigest().encode()).encode()
    into.invalid("the digest in hex", ["WrongConstruction"], verifier=verifier, challenge=hexed)
    return file
