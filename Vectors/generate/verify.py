#!/usr/bin/env python3
"""Checks vector files as they lie on disk, through pyca/cryptography and hashlib, against manifest.json.

    python3 Vectors/generate/verify.py [--slow] [FILE or FOLDER ...]

Without a path: our own files. Files are matched with the manifest by name; their SHA-256 and their counts must
be the ones expected there. It shares no code with the generator but `reference/library.py` and the
reader of Tests/Independent. Every accepted case is also spoiled by one bit and must then fail. Exit code 1 on
any difference.
"""

import base64
import hashlib
import json
import re
import sys
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from reference import library

FOLDER = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FOLDER.parent / "Tests" / "Independent"))

import read_age  # noqa: E402
import read_container  # noqa: E402
import read_order  # noqa: E402
import read_policy  # noqa: E402
import read_recovery  # noqa: E402

ITERATIONS = 1 << 31


class Refused(Exception):
    """A case was refused or a computed value differs from the one given."""


class Skipped(Exception):
    """A case cannot be run, with the reason's code."""


def need(condition):
    if not condition:
        raise Refused


def cbc(key, iv, msg, ct):
    need(len(key) in (16, 24, 32) and len(iv) == 16 and ct and len(ct) % 16 == 0)
    need(library.cbc_decrypt(key, iv, ct) == msg)
    need(library.cbc_encrypt(key, iv, msg) == ct)


def derived(prf, test, size):
    need(0 < test["iterationCount"] < ITERATIONS)
    return library.pbkdf2(prf, test["password"], test["salt"], test["iterationCount"], size)


def hash_name(algorithm):
    """sha256 for HMACSHA256, HKDF-SHA-256 and PBKDF2-HMACSHA256."""
    return "sha" + algorithm.replace("-", "").split("SHA")[-1]


def aes_cbc(algorithm, group, t):
    cbc(t["key"], t["iv"], t["msg"], t["ct"])


def aead(algorithm, group, t):
    if algorithm in library.JOSE:
        need(library.jose_decrypt(algorithm, t["key"], t["iv"], t["aad"], t["ct"], t["tag"]) == t["msg"])
        need(library.jose_encrypt(algorithm, t["key"], t["iv"], t["aad"], t["msg"]) == (t["ct"], t["tag"]))
        return
    if algorithm == "AES-GCM" and len(t["iv"]) != 12 and t["result"] == "valid":
        raise Skipped(f"unsupported-iv-size:{8 * len(t['iv'])}")
    need(len(t["tag"]) == 16)
    seal, open_ = {
        "AES-GCM": (library.gcm_encrypt, library.gcm_decrypt),
        "CHACHA20-POLY1305": (library.seal, library.open_),
        "XCHACHA20-POLY1305": (library.xseal, library.xopen),
        "XAES-256-GCM": (library.xaes_encrypt, library.xaes_decrypt),
    }[algorithm]
    need(open_(t["key"], t["iv"], t["aad"], t["ct"], t["tag"]) == t["msg"])
    need(seal(t["key"], t["iv"], t["aad"], t["msg"]) == (t["ct"], t["tag"]))


def key_wrap(algorithm, group, t):
    wrap, unwrap = (
        (library.wrap, library.unwrap)
        if algorithm == "AES-WRAP"
        else (library.wrap_padded, library.unwrap_padded)
    )
    need(unwrap(t["key"], t["ct"]) == t["msg"])
    need(wrap(t["key"], t["msg"]) == t["ct"])


def mac(algorithm, group, t):
    if algorithm == "AES-CMAC":
        need(len(t["tag"]) == 16 and library.cmac(t["key"], t["msg"]) == t["tag"])
        return
    need(8 * len(t["tag"]) == group["tagSize"])
    need(library.hmac(hash_name(algorithm), t["key"], t["msg"])[: len(t["tag"])] == t["tag"])


def mac_with_iv(algorithm, group, t):
    need(len(t["iv"]) == 12 and len(t["tag"]) == 16)
    need(library.gmac(t["key"], t["iv"], t["msg"]) == t["tag"])


def siv(algorithm, group, t):
    strings = [bytes.fromhex(text) for text in t["strings"]]
    need(library.siv_decrypt(t["key"], strings, t["ct"]) == t["msg"])
    need(library.siv_encrypt(t["key"], strings, t["msg"]) == t["ct"])


def hkdf(algorithm, group, t):
    need(library.hkdf(hash_name(algorithm), t["ikm"], t["salt"], t["info"], t["size"]) == t["okm"])


def pbkdf2(algorithm, group, t):
    need(derived(hash_name(algorithm), t, t["dkLen"]) == t["dk"])


def pbes2(algorithm, group, t):
    prf, bits = algorithm.removeprefix("PbeWithHmac").split("AndAes_")
    cbc(derived(prf.lower(), t, int(bits) // 8), t["iv"], t["msg"], t["ct"])


def offered(condition, code):
    """Skips what is not offered, whatever the result."""
    if not condition:
        raise Skipped(f"unsupported-{code}")


def eddsa(algorithm, group, t):
    offered(group["publicKey"]["curve"] == "edwards25519", "curve")
    need(library.ed25519_verify(bytes.fromhex(group["publicKey"]["pk"]), t["msg"], t["sig"]))
    # OpenSSL takes public keys of small order; our rule refuses them.
    need(bytes.fromhex(group["publicKey"]["pk"])[:31] not in SMALL_ORDER)


def ecdsa(algorithm, group, t):
    offered(group["publicKey"]["curve"] == "secp256r1", "curve")
    offered(group["sha"] == "SHA-256", "hash")
    offered(group["type"] != "EcdsaBitcoinVerify", "type")
    public, sig = bytes.fromhex(group["publicKey"]["uncompressed"]), t["sig"]
    if group["type"] == "EcdsaP1363Verify":
        need(len(sig) == 64)
        sig = encode_dss_signature(int.from_bytes(sig[:32], "big"), int.from_bytes(sig[32:], "big"))
    need(len(public) == 65 and library.p256_verify(public, t["msg"], sig))


def rsa_numbers(key, t):
    """The modulus and the exponent; a key that is not offered is refused if the case is invalid."""
    n, e = (int(key[name], 16) for name in ("modulus", "publicExponent"))
    is_offered = 2048 <= n.bit_length() <= 8192 and n & 1 and e & 1 and 65537 <= e < 1 << 64
    need(is_offered or t["result"] != "invalid")
    size, exponent = -(-n.bit_length() // 8) * 8, e.to_bytes(-(-e.bit_length() // 8), "big")
    offered(is_offered, f"key:{size}:{exponent.hex()}")
    return n, e


def rsa_signing(algorithm, group, t):
    offered(group["sha"] == "SHA-256", "hash")
    n, e = rsa_numbers(group["privateKey"], t)
    numbers, made = library.rsa_sign(bytes.fromhex(group["privateKeyPkcs8"]), t["msg"])
    need(numbers == (n, e) and made == t["sig"] and library.rsa_verify(n, e, t["msg"], made, "pkcs1"))


def rsa(algorithm, group, t):
    offered(group["sha"] == "SHA-256", "hash")
    if algorithm == "RSASSA-PSS":
        parameters = [group[name] for name in ("mgf", "mgfSha", "sLen")]
        offered(parameters == ["MGF1", "SHA-256", 32], "salt-or-mask")
    n, e = rsa_numbers(group["publicKey"], t)
    scheme = "pss" if algorithm == "RSASSA-PSS" else "pkcs1"
    need(len(t["sig"]) == -(-n.bit_length() // 8) and library.rsa_verify(n, e, t["msg"], t["sig"], scheme))


def unpadded(text):
    """The bytes of canonical Base64 for URLs."""
    need(isinstance(text, str))
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    need(base64.urlsafe_b64encode(data).rstrip(b"=").decode() == text)
    return data


def strict_object(data):
    def members(pairs):
        need(len(dict(pairs)) == len(pairs))
        return dict(pairs)

    value = json.loads(data.decode(), object_pairs_hook=members)
    need(isinstance(value, dict))
    return value


def web_key(key):
    """The kind, the algorithms and the public numbers of a JSON Web Key."""
    need(isinstance(key, dict) and not {"d", "p", "q", "dp", "dq", "qi", "oth", "k"} & set(key))
    need(key.get("use", "sig") == "sig" and "verify" in key.get("key_ops", ["verify"]))
    kind = (key.get("kty"), key.get("crv") if key.get("kty") != "RSA" else None)
    if kind == ("EC", "P-256"):
        x, y = unpadded(key.get("x")), unpadded(key.get("y"))
        need(len(x) == len(y) == 32)
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\4" + x + y)
        names, numbers = {"ES256"}, (b"\4" + x + y,)
    elif kind == ("RSA", None):
        n, e = unpadded(key.get("n")), unpadded(key.get("e"))
        need(n[:1] > b"\0" and e[:1] > b"\0" and n[-1] & 1 and e[-1] & 1)
        numbers = int.from_bytes(n, "big"), int.from_bytes(e, "big")
        need(2048 <= numbers[0].bit_length() <= 8192 and 65537 <= numbers[1] < 1 << 64)
        names = {"RS256", "PS256"}
    else:
        need(kind == ("OKP", "Ed25519"))
        names, numbers = {"EdDSA", "Ed25519"}, (unpadded(key.get("x")),)
        need(len(numbers[0]) == 32)
    need(key.get("alg", min(names)) in names)
    # Both names of an Ed25519 key mean the same algorithm (RFC 9864).
    return {key["alg"]} if "alg" in key and "EdDSA" not in names else names, numbers


def jws(algorithm, group, t):
    parts = t["jws"].decode().split(".")
    need(len(parts) == 3 and all(parts))
    header, claims = (strict_object(unpadded(part)) for part in parts[:2])
    need(not {"crit", "b64"} & set(header) and isinstance(header.get("typ", "JWT"), str))
    need(header.get("typ", "JWT").lower() == t["typ"].lower() and isinstance(header.get("kid", ""), str))
    found = {}
    for key in strict_object(t["keys"])["keys"] if t["keys"] != b"{}" else []:
        try:
            names, numbers = web_key(key)
        except (Refused, ValueError):
            continue
        if header.get("alg") in names and header.get("kid", key.get("kid")) == key.get("kid"):
            found[json.dumps(key, sort_keys=True)] = numbers
    need(len(found) == 1)
    (numbers,) = found.values()
    message, sig = ".".join(parts[:2]).encode(), unpadded(parts[2])
    if header["alg"] == "ES256":
        need(len(sig) == 64)
        both = (int.from_bytes(half, "big") for half in (sig[:32], sig[32:]))
        need(library.p256_verify(*numbers, message, encode_dss_signature(*both)))
    elif header["alg"] in ("EdDSA", "Ed25519"):
        need(library.ed25519_verify(*numbers, message, sig))
    else:
        need(library.rsa_verify(*numbers, message, sig, "pss" if header["alg"] == "PS256" else "pkcs1"))
    need(claims == json.loads(t["claims"]))


def jwk_thumbprint(algorithm, group, t):
    key = strict_object(t["jwk"])
    web_key(key)
    names = {"EC": "crv kty x y", "RSA": "e kty n", "OKP": "crv kty x"}[key["kty"]].split()
    members = json.dumps({name: key[name] for name in names}, sort_keys=True, separators=(",", ":"))
    need(hashlib.sha256(members.encode()).digest() == t["thumbprint"])


def pkce(algorithm, group, t):
    need(re.fullmatch(rb"[A-Za-z0-9._~-]{43,128}", t["verifier"]))
    digest = hashlib.sha256(t["verifier"]).digest()
    need(base64.urlsafe_b64encode(digest).rstrip(b"=") == t["challenge"])


def documented_key(algorithm, group, t):
    need(t["uuid"])
    text = base64.b64encode(hashlib.sha256(t["passcode"].encode()).digest()).decode() if t["passcode"] else ""
    need(text == t["passcodeHash"])
    need(hashlib.sha256((t["uuid"] + t["label"] + text).encode()).digest() == t["key"])


def documented_passphrase(algorithm, group, t):
    need(t["uuid"])
    text = t["passcode"] if t["passcode"] else t["uuid"]
    need(base64.b64encode(hashlib.sha256(text.encode()).digest()) == t["passphrase"])


def documented_cbc(algorithm, group, t):
    need(len(t["key"]) in (16, 32))
    cbc(t["key"], t["message"][:16], t["msg"], t["message"][16:])


def pbkdf2_cbc(algorithm, group, t):
    need(t["keySize"] in (128, 256))
    cbc(derived(t["prf"], t, t["keySize"] // 8), t["message"][:16], t["msg"], t["message"][16:])


def cbc_hmac(algorithm, group, t):
    need(len(t["key"]) == 32 and len(t["iv"]) == 16 and len(t["tag"]) == 32)
    enc_key, mac_key = (
        library.hkdf("sha256", t["key"], b"", f"coffer/cbc-hmac/{use}/v1".encode(), 32)
        for use in ("enc", "mac")
    )
    data = len(t["aad"]).to_bytes(8, "big") + t["aad"] + t["iv"] + t["ct"]
    need(library.hmac("sha256", mac_key, data) == t["tag"])
    cbc(enc_key, t["iv"], t["msg"], t["ct"])


def file_container(algorithm, group, t):
    keys = read_container.Keys(t["deviceKey"], t["classKey"], t["vaultID"], t["context"])
    opened = read_container.read(t["container"], keys)
    need((opened.plaintext, opened.inner.name, opened.inner.mtime) == (t["msg"], t["name"], t["mtime"]))


def signed_order(algorithm, group, t):
    pinned = tuple(t["keys"][at : at + 32] for at in range(0, len(t["keys"]), 32))
    last = (int.from_bytes(t[name], "big") for name in ("lastOrder", "lastContact"))
    order = read_order.judge(t["order"], read_order.Vault(pinned, t["vaultID"], t["deviceID"], *last, t["now"]))
    need(order.counter == int.from_bytes(t["counter"], "big"))
    for name in ("action", "scope", "target", "issued", "expires", "subject", "reason"):
        need(getattr(order, name) == t[name])
    need(order.signer == library.ed25519_public_key(t["privateKey"]))


def signed_policy(algorithm, group, t):
    pinned = tuple(t["keys"][at : at + 32] for at in range(0, len(t["keys"]), 32))
    last = int.from_bytes(t["last"], "big")
    vault = read_policy.Vault(pinned, t["vaultID"], t["deviceID"], last, t["now"])
    policy = read_policy.judge(t["policy"], vault)
    need(policy.counter == int.from_bytes(t["counter"], "big"))
    for name in ("target", "format", "issued", "expires", "document"):
        need(getattr(policy, name) == t[name])
    need(policy.signer == library.ed25519_public_key(t["privateKey"]))


def recovery_key(algorithm, group, t):
    need(read_recovery.judge(t) is None)


def age(algorithm, group, t):
    identity = read_age.secret_key(t["identity"]) if t["identity"] else None
    need(read_age.read(t["file"], identity, t["passphrase"] or None) == t["msg"])


# The first 31 bytes of the encodings of small order, that is without the byte that also holds the sign of x.
SMALL_ORDER = {
    bytes.fromhex(text)[:31]
    for text in (
        "00" * 32,
        "01" + "00" * 31,
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
}

# What is decided for acceptable signatures, by flag: whether they are accepted. About SmallOrderR, OpenSSL and
# libsodium differ.
DECIDED = {
    "MissingNull": False,
    "SmallOrderPublicKey": False,
    "MixedOrderPublicKey": True,
}

# The accumulated tests of c2sp.org/XAES-256-GCM: the number of messages and the digest of what they seal to.
XAES_ACCUMULATED = {
    10000: "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939",
    1000000: "2163ae1445985a30b60585ee67daa55674df06901b890593e824b8a7c885ab15",
}

# For each test type: the check, the fields in hex, and the field that is spoiled to see that it notices.
TYPES = {
    "IndCpaTest": (aes_cbc, "key iv msg ct", "ct"),
    "AeadTest": (aead, "key iv aad msg ct tag", "tag"),
    "KeywrapTest": (key_wrap, "key msg ct", "ct"),
    "MacTest": (mac, "key msg tag", "tag"),
    "MacWithIvTest": (mac_with_iv, "key iv msg tag", "tag"),
    "SivTest": (siv, "key msg ct", "ct"),
    "HkdfTest": (hkdf, "ikm salt info okm", "okm"),
    "PbkdfTest": (pbkdf2, "password salt dk", "dk"),
    "PbeTest": (pbes2, "password salt iv msg ct", "ct"),
    "EddsaVerify": (eddsa, "msg sig", "sig"),
    "EcdsaVerify": (ecdsa, "msg sig", "sig"),
    "EcdsaP1363Verify": (ecdsa, "msg sig", "sig"),
    "EcdsaBitcoinVerify": (ecdsa, "msg sig", "sig"),
    "RsassaPkcs1Verify": (rsa, "msg sig", "sig"),
    "RsassaPkcs1Generate": (rsa_signing, "msg sig", "sig"),
    "RsassaPssVerify": (rsa, "msg sig", "sig"),
    "RsassaPssWithParametersVerify": (rsa, "msg sig", "sig"),
    "JwsVerify": (jws, "jws keys claims", "jws"),
    "JwkThumbprint": (jwk_thumbprint, "jwk thumbprint", "thumbprint"),
    "PkceTest": (pkce, "verifier challenge", "challenge"),
    "DocumentedKeyTest": (documented_key, "key", "key"),
    "DocumentedPassphraseTest": (documented_passphrase, "passphrase", "passphrase"),
    "DocumentedCbcTest": (documented_cbc, "key message msg", "message"),
    "Pbkdf2CbcTest": (pbkdf2_cbc, "password salt message msg", "message"),
    "CbcHmacTest": (cbc_hmac, "key aad iv msg ct tag", "tag"),
    "FileContainerTest": (file_container, "deviceKey classKey classKeyID vaultID context container msg name", "container"),
    "RecoveryKeyTest": (
        recovery_key,
        "secret vaultID deviceKey identifier slotKey copyKey publicKey classKey slot copy",
        "copy",
    ),
    "SignedOrderTest": (
        signed_order,
        "keys vaultID deviceID lastOrder lastContact privateKey counter subject reason order",
        "order",
    ),
    "SignedPolicyTest": (
        signed_policy,
        "keys vaultID deviceID last privateKey counter document policy",
        "policy",
    ),
    "AgeTest": (age, "passphrase file msg", "file"),
}


def outcome(algorithm, group, test):
    """Whether the case is accepted: True or False."""
    try:
        TYPES[group["type"]][0](algorithm, group, test)
        return True
    except (Refused, ValueError, read_age.Refused, read_container.Refused, read_order.Refused):
        return False


def check_file(path, slow, problems):
    """Counts by outcome, the algorithm and the number of cases declared."""
    document = json.loads(path.read_text(encoding="utf-8"))
    algorithm, found, numbers = document["algorithm"], Counter(), set()
    for group in document["testGroups"]:
        _, names, spoiled = TYPES[group["type"]]
        for raw in group["tests"]:
            where = f"{path.name} tcId {raw['tcId']} ({raw['comment']})"
            if raw["tcId"] in numbers:
                problems.append(f"{where}: tcId used twice")
            numbers.add(raw["tcId"])
            problems += [
                f"{where}: flag {flag} without a note"
                for flag in raw["flags"]
                if flag not in document["notes"]
            ]
            test = {**raw, **{name: bytes.fromhex(raw[name]) for name in names.split()}}
            if "Slow" in raw["flags"] and not slow:
                found["slow"] += 1
                continue
            try:
                accepted = outcome(algorithm, group, test)
            except Skipped as reason:
                found[str(reason)] += 1
                continue
            if raw["result"] == "acceptable":
                found["acceptable"] += 1
                decided = {DECIDED[flag] for flag in raw["flags"] if flag in DECIDED}
                if "sig" in raw and decided != {accepted} and "SmallOrderR" not in raw["flags"]:
                    problems.append(f"{where}: {'accepted' if accepted else 'refused'}, not as decided")
            elif accepted == (raw["result"] == "valid"):
                found["accepted" if accepted else "refused"] += 1
            else:
                problems.append(f"{where}: {raw['result']} but {'accepted' if accepted else 'refused'}")
            if accepted and test.get("iterationCount", 0) < 100000:
                # ECDSA: s and n - s are both right, and may differ in only the last bit.
                value, bit = test[spoiled], 2 if "Ecdsa" in group["type"] else 1
                test[spoiled] = value[:-1] + bytes([value[-1] ^ bit])
                if outcome(algorithm, group, test):
                    problems.append(f"{where}: still accepted with a bit of {spoiled} flipped")
    if sum(found.values()) != document["numberOfTests"]:
        problems.append(
            f"{path.name}: {sum(found.values())} cases counted, {document['numberOfTests']} declared"
        )
    return found


def expected_counts(entry, slow):
    expected = entry["expected"]
    found = Counter({name: expected[name] for name in ("accepted", "refused", "acceptable")})
    found.update(expected["skipped"])
    if slow:
        found["accepted"] += found.pop("slow", 0)
    return +found


def main(arguments):
    slow = "--slow" in arguments
    paths = [Path(text) for text in arguments if text != "--slow"] or [FOLDER]
    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    sets = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))["sets"]
    entries = {}
    for group in sets:
        for entry in group["files"]:
            entries.setdefault(entry["file"], {})[entry["sha256"]] = entry
    problems, total = [], Counter()
    for count, digest in XAES_ACCUMULATED.items():
        if (slow or count < 100000) and library.xaes_accumulated(count) != digest:
            problems.append(f"XAES-256-GCM: the accumulated test over {count} messages differs")
    for path in files:
        if path.name == "manifest.json":
            continue
        before = len(problems)
        found = check_file(path, slow, problems)
        known = entries.get(path.name, {})
        entry = known.get(hashlib.sha256(path.read_bytes()).hexdigest())
        if not known:
            problems.append(f"{path.name}: not in the manifest")
        elif entry is None:
            problems.append(f"{path.name}: SHA-256 differs from the manifest's")
        elif "expected" in entry and expected_counts(entry, slow) != +found:
            problems.append(f"{path.name}: counts differ from the manifest's: {dict(found)}")
        total.update(found)
        summary = ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
        print(f"{'FAILED' if len(problems) > before else 'ok':6} {path.name}: {summary}")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    print(f"{sum(total.values())} cases in {len(files)} files, {len(problems)} problems")
    return 1 if problems or not total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
