"""README.md, written from the files themselves so that its numbers cannot go stale."""

from vectorfile import SEED

HEAD = """# Test vectors

Known answers for every algorithm that Coffer offers, and many more inputs that must be refused. The
files have the shape of Wycheproof's JSON, so that one loader reads both: `algorithm`,
`numberOfTests`, `notes` (what each flag means), and groups of cases with the sizes in bits. Bytes
are lower-case hex.

    coffer vectors verify Vectors                   # check this package against them
    python3 Vectors/generate/verify.py              # check them against pyca/cryptography instead
    python3 Vectors/generate/generate.py            # write them again, byte for byte the same
    python3 Vectors/generate/generate.py --check    # exit 1 if a file differs from what would be written

The Python programs were written for Python 3.11 and `cryptography` 48.

## Files

Seed of every file: `{seed}/` and the file's name without its suffix; the stream is SHA-256 over
seed, `/` and a counter. {total} cases: {valid} valid, {invalid} invalid ({percent} %), {acceptable}
acceptable.

| file | algorithm | published sources, beside our own cases | cases | valid | invalid | acceptable |
| --- | --- | --- | ---: | ---: | ---: | ---: |
"""

TAIL = """
`manifest.json` says for each of these files, and for files of other projects that we verify but do
not copy, the SHA-256, the number of cases and how many of them a verifier must accept, refuse and
skip. It holds no cases itself.

## What the results mean

* **valid**: computing gives the values, and where there is an inverse (opening, decrypting,
  unwrapping), it gives the input back.
* **invalid**: the case is refused, or, for functions that cannot fail, the computed value differs
  from the one given. A wrong key, IV or tag size is invalid. Nothing may be released before a tag
  or key-wrap value has been checked.
* **acceptable**: defined, but an interface may refuse it: an empty HMAC or HKDF key, an empty
  PBKDF2 salt, Ed25519 signatures whose R has a part of small order (RFC 8032 leaves the cofactor
  open).

## What a verifier must know

* AES-GCM: our interface takes 96-bit IVs only. The {gcm_valid} published cases with other IVs are right and
  are skipped with the code `unsupported-iv-size:<bits>`; {gcm_invalid} of our own are marked invalid and
  must be refused. Tags of any size but 128 bits are invalid and not skipped.
* XAES-256-GCM: the specification's accumulated tests are no cases. `verify.py` runs the one over
  10 000 messages, and with `--slow` the one over 1 000 000; the package's tests run the first.
* HMAC: the group's `tagSize` is what is expected. A tag of another length is invalid even if its
  bytes are right.
* PBKDF2: `iterationCount` and `dkLen` go from negative numbers to 2^52: read them as 64-bit
  integers and refuse before allocating. The case with the flag `Slow` (RFC 6070, 16 777 216
  iterations) takes seconds: code `slow`.
* Signatures of other projects: what we do not offer is skipped whatever its result is, because a refusal without
  a look proves nothing: `unsupported-curve`, `unsupported-hash`, `unsupported-type`, `unsupported-salt-or-mask`.
  A key with a size or exponent that we refuse is skipped (`unsupported-key:<bits>:<exponent>`), but where the
  case is invalid. We accept acceptable cases with the flag `MixedOrderPublicKey` (only the owner can make such a
  key, and the equation is right without the cofactor) and refuse those with `SmallOrderPublicKey`, `SmallOrderR`
  (a signature for many messages) and `MissingNull` (a second encoding); any other flag is a failure until
  somebody has decided.
* DOCUMENTED-KEY: `uuid`, `passcode`, `label` and `passcodeHash` are text, escaped to ASCII in the
  files. Compare as bytes: an equality of text that normalises takes composed and decomposed forms
  for the same.
* In PBKDF2 a password and the same one followed by zero bytes give the same output (HMAC fills its
  key with zeros). The cases with the flag `TrailingNul` show it; they are valid.

## Our own algorithms

* DOCUMENTED-KEY: key = SHA-256(utf8(uuid) ‖ utf8(label) ‖ passcodeHash), passcodeHash =
  Base64(SHA-256(utf8(passcode))) or nothing when the passcode is empty.
* DOCUMENTED-PASSPHRASE: passphrase = Base64(SHA-256(utf8(passcode))), or of the uuid where the passcode
  is empty; as hex of its 44 ASCII bytes.
* DOCUMENTED-CBC: `message` = IV ‖ AES-CBC with PKCS #5 padding of `msg` under `key` of 16 or 32
  bytes.
* PBKDF2-CBC: the same under PBKDF2-HMAC-`prf`(`password`, `salt`, `iterationCount`), `keySize`
  bits. In the device scheme the password is utf8(deviceId ‖ randomString); the comments say so.
* CBC-HMAC: encKey and macKey are HKDF-SHA256(`key`, no salt, info, 32 bytes) with info
  `coffer/cbc-hmac/enc/v1` and `coffer/cbc-hmac/mac/v1`; `ct` = AES-256-CBC with PKCS #5 padding;
  `tag` = HMAC-SHA256(macKey, length of `aad` as 8 bytes big-endian ‖ `aad` ‖ `iv` ‖ `ct`).
* A128CBC-HS256 and its like (RFC 7518): the first half of `key` authenticates, the second encrypts; an IV of
  another size than 16 bytes is one more message that does not open.
* AES-SIV (RFC 5297): `strings` is the list of strings of associated data, each hexadecimal, in their order: an empty
  string is not the same as none. `ct` = synthetic IV ‖ ciphertext. Wycheproof's AES-SIV-CMAC has one string, `aad`;
  its AEAD-AES-SIV-CMAC has two, `aad` and `iv`, and the synthetic IV in `tag`.
* JWS: `jws` is a token, `keys` the issuer's set of keys, `typ` the only permitted type and `claims` what the token
  says; a token without a type is of the type `JWT`. Permitted are RS256, PS256, ES256 and EdDSA,
  also under the name `Ed25519`.
* FILE-CONTAINER: `container` is a whole file as `FileFormat.md` of the documentation describes it;
  `deviceKey`, `classKey` of the id `classKeyID`, `vaultID` and `context` open it to `msg`, `name`
  (bytes) and `mtime` (nanoseconds). `expectError` is the code of our error; another reader has its own words.
* SIGNED-ORDER: `order` as `Formats.md` of the documentation describes it, shown to a vault (`vaultID`) on a
  machine (`deviceID`) that has pinned `keys` (32 bytes each), has seen the counters `lastOrder` and
  `lastContact` and whose clock is at `now`. The other fields are what it says; `privateKey` signed it.
* SIGNED-POLICY: `policy` as `Formats.md` of the documentation describes it, shown like an order to a vault that has
  taken a policy with the counter `last`. Nobody looks at its `document`.
* RECOVERY-KEY: `text` is the key as people write it, `secret` its 20 bytes. `slot` is a wrapped key of a keybag with
  the class `protection`, `copy` the first 128 bytes of a slot of the file `recovery`; `Formats.md` describes both.
* AGE: `file` is an age file of version 1 (C2SP `age.md`), opened with the secret key `identity` or, where that is
  empty, with `passphrase`. `expectError` is the code of our error.

## How far they can be trusted

* Published cases were retyped from the documents that their groups name. The generator computes
  each of them anew and stops at the first difference, so that a slip of the pen cannot stay.
* Our own valid cases are computed by two implementations that share no code: plain Python written
  from the standards (`generate/reference/pure_*.py`) and OpenSSL through pyca/cryptography and
  hashlib (`generate/reference/library.py`). PBKDF2 over 3 iterations is checked by a loop over HMAC
  instead of plain Python.
* File containers come from `Tests/Independent/write_container.py` and are shown to
  `read_container.py` beside it: two programs over pyca/cryptography that share no code.
* Recovery keys are written by `generate/cases/recovery.py` and judged by `Tests/Independent/read_recovery.py`,
  which shares no code with it. Run as a program, the first measures what the checks of the text find.
* Signed orders are written by `generate/cases/order.py`, signed by both implementations of Ed25519, and
  judged by `Tests/Independent/read_order.py`; the code of each refusal is the one that it gives.
* Signed policies are written by `generate/cases/policy.py` and judged by `Tests/Independent/read_policy.py` in the
  same way.
* age files are written in plain Python by `generate/cases/age.py` and read by `Tests/Independent/read_age.py`
  over pyca/cryptography; the code of each refusal is the one that it gives. They have no case of the
  specification's test kit, which the package's tests read when it is there.
* Our own invalid cases are shown to both wherever both can express them, and both must refuse.
* FIPS 197 has single blocks and SP 800-38A unpadded ones; here they stand as CBC with padding, and
  the generator asserts that the published blocks are where they belong.

## The generator

| file | holds |
| --- | --- |
| `generate/generate.py` | the program that writes everything |
| `generate/verify.py` | an independent check of the written files, and of other Wycheproof files given as arguments |
| `generate/vectorfile.py` | the file format, the seeded stream, helpers |
| `generate/flags.py` | every flag and what it means |
| `generate/external.py` | `manifest.json` |
| `generate/readme.py` | this text |
| `generate/cases/__init__.py`, `padding.py`, `passwords.py`, `aead.py` | what several families share |
| `generate/cases/cbc.py`, `gcm.py`, `xaes.py`, `chacha.py`, `cbc_hmac.py`, `jose_cbc.py`, `siv.py`, `keywrap.py` | ciphers and key wrapping |
| `generate/cases/mac.py`, `block_mac.py`, `hkdf.py`, `pbkdf2.py`, `pbes2.py` | MACs and key derivation |
| `generate/cases/documented_key.py`, `documented_passphrase.py`, `documented_cbc.py` | the documented schemes |
| `generate/cases/ed25519.py`, `signatures.py` | signatures |
| `generate/cases/jose.py` | tokens, thumbprints and proof keys |
| `generate/cases/container.py` | file containers |
| `generate/cases/order.py` | signed orders |
| `generate/cases/policy.py` | signed policies |
| `generate/cases/recovery.py` | recovery keys |
| `generate/cases/age.py` | age files |
| `generate/reference/__init__.py`, `library.py` | the libraries behind one shape |
| `generate/reference/pure_aes.py`, `pure_siv.py`, `pure_chacha.py`, `pure_ed25519.py`, `pure_hash.py`, `pure_p256.py`, `pure_rsa.py`, `pure_x25519.py` | the plain Python implementations |

To add a case, add it to its family, run `generate.py`, then `verify.py`. Cases drawn after it in
the same file change, because they come from one stream."""


def readme(files):
    total = sum(len(file.tests) for file in files)
    valid, invalid, acceptable = (
        sum(file.count(r) for file in files) for r in ("valid", "invalid", "acceptable")
    )
    rows = []
    for file in files:
        names = "; ".join(sections_joined(file.sources())) or "none"
        rows.append(
            f"| `{file.name}` | {file.algorithm} | {names} | {len(file.tests)} | {file.count('valid')} "
            f"| {file.count('invalid')} | {file.count('acceptable')} |\n"
        )
    gcm = next(file for file in files if file.algorithm == "AES-GCM")
    others = [test for group in gcm.groups if group.head["ivSize"] != 96 for test in group.tests]
    head = HEAD.format(
        seed=SEED,
        total=total,
        valid=valid,
        invalid=invalid,
        acceptable=acceptable,
        percent=round(100 * invalid / total),
    )
    tail = TAIL.format(
        gcm_valid=sum(t["result"] == "valid" for t in others),
        gcm_invalid=sum(t["result"] == "invalid" for t in others),
    )
    return head + "".join(rows) + tail


def sections_joined(names):
    """RFC 4231's cases have a section each: name the document once."""
    if any(name.startswith("RFC 4231") for name in names):
        return ["RFC 4231 section 4"]
    return names
