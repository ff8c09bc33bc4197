/// A benchmark's name without its variant, and a sentence that says what it measures.
package struct Meaning: Sendable {
    /// The part of the results' names before the first slash.
    package let family: String
    package let sentence: String

    init(_ family: String, _ sentence: String) {
        self.family = family
        self.sentence = sentence
    }

    /// Benchmarks under one heading of the page.
    struct Group: Sendable {
        let heading: String
        let meanings: [Meaning]
    }

    /// The meaning of a result; `nil` if the table below lacks its name.
    package static func of(_ name: String) -> Meaning? { byFamily[family(of: name)] }

    /// The part of a result's name before the first slash.
    static func family(of name: String) -> String { String(name.prefix { $0 != "/" }) }

    /// The part of a result's name after the first slash; empty if there is none.
    static func variant(of name: String) -> String { String(name.drop { $0 != "/" }.dropFirst()) }

    private static let byFamily = Dictionary(
        groups.flatMap(\.meanings).map { ($0.family, $0) }, uniquingKeysWith: { (first, _) in first })
}

extension Meaning {
    /// Every benchmark. `bench --list` fails if one is missing here.
    static let groups = [
        Group(heading: "Key derivation", meanings: derivation), Group(heading: "Ciphers", meanings: ciphers),
        Group(heading: "Files", meanings: files), Group(heading: "Tokens", meanings: tokens),
        Group(heading: "Sessions at servers", meanings: sessions),
        Group(heading: "Wiping", meanings: wiping), Group(heading: "Databases", meanings: databases),
        Group(heading: "Key pairs", meanings: keyPairs),
    ]

    private static let derivation = [
        Meaning(
            "pbkdf2-sha256",
            "Derives a key with PBKDF2-HMAC-SHA256 in 600 000 rounds; the last number is its size in bytes."),
        Meaning("documented-key", "Derives a key of the documented scheme from a UUID and a passcode."),
        Meaning("argon2id", "Derives a key from a passcode with Argon2id at the standard cost of vaults."),
    ]

    private static let ciphers = [
        Meaning(
            "gcm-seal",
            "Encrypts a message with AES-256-GCM, many under one key; the number is its size in bytes."),
        Meaning(
            "gcm-open",
            "Authenticates and decrypts a message of AES-256-GCM; the number is its size in bytes."),
        Meaning(
            "cbc256-encrypt",
            "Encrypts a message with AES-256-CBC and PKCS#5 padding; the number is its size in bytes."),
        Meaning(
            "cbc256-decrypt",
            "Decrypts a message of AES-256-CBC with PKCS#5 padding; the number is its size in bytes."),
        Meaning(
            "cbc-hmac",
            "Encrypts a message with AES-256-CBC and authenticates it with HMAC-SHA-256; the number is its "
                + "size in bytes."),
    ]

    private static let files = [
        Meaning(
            "file-seal",
            "Adds a file to the file store, encrypted twice; age encrypts once, and cp only copies."),
        Meaning("age-encrypt", "Encrypts a file to one recipient in the age format, like age itself."),
        Meaning("age-decrypt", "Decrypts an age file of one recipient into a new file, like age itself."),
        Meaning(
            "file-open",
            "Decrypts a stored file into a new file; age decrypts one layer, and cp only copies."),
        Meaning(
            "view-copy",
            "Decrypts a stored file into a temporary copy for a viewer; against “cp, removed”, together with "
                + "the copy's removal."),
        Meaning("file-random-read", "Reads 4 KiB at random places of an open stored file of 1 GiB."),
        Meaning(
            "file-seal-memory",
            "The memory that adding a file of 10 GiB takes at most, above that of the idle process."),
        Meaning(
            "file-rewrap", "Wraps the keys of a stored file again in place; its content stays as it is."),
        Meaning("file-list", "Lists the names in the file store; the number is that of the files."),
    ]

    private static let tokens = [
        Meaning(
            "vault-file-get",
            "Reads a token of an unlocked vault from its token file; the number is that of its tokens."),
        Meaning(
            "vault-file-put",
            "Replaces a token of an unlocked vault in its token file; the number is that of its tokens."),
        Meaning(
            "vault-secret-service-get",
            "Reads a token of a vault from a Secret Service; the number is that of unrelated items beside it."
        ),
        Meaning(
            "rotate-tokens",
            "Replaces all class keys of a vault without a passcode; the number is that of its tokens."),
        Meaning(
            "rotate-all",
            "Replaces all class keys of a vault without a passcode; the number is that of its tokens, and of "
                + "its files."),
        Meaning(
            "backup-create",
            "Backs up a vault with one file of 1 GiB for an age recipient; the peer encrypts the file."),
        Meaning(
            "backup-verify",
            "Checks a backup of a vault with one file of 1 GiB; the peer decrypts the backup to a file."),
        Meaning(
            "backup-restore",
            "Checks such a backup and restores its file; the peer decrypts the backup to a file."),
        Meaning("vault-secret-service-put", "Replaces a token of a vault in a Secret Service."),
        Meaning(
            "cli-token-get", "Runs `coffer token get` from start to end, with a token in a Secret Service."),
    ]

    private static let sessions = [
        Meaning(
            "oauth-token-live",
            "Runs `coffer oauth token` from start to end while the session's access token is live."),
        Meaning(
            "oauth-refresh",
            "Renews the tokens of a session from start to end, with the vault on a disk and an HTTPS server "
                + "on this machine, at which a refresh token is good for once."),
        Meaning(
            "oauth-100-processes",
            "Runs `coffer oauth token` 100 times at once while the access token is due, until every process "
                + "has printed the new one; the server gets one request."),
        Meaning(
            "oauth-with-token",
            "Gives a closure of the program the live access token of a session in an unlocked vault."),
        Meaning(
            "oauth-id-token",
            "Verifies an id token under the key of a set that it names, and checks its claims."),
        Meaning(
            "oauth-response",
            "Reads a server's answer of 1.2 kB with an access token, a refresh token and an id token."),
    ]

    private static let wiping = [
        Meaning(
            "wipe-keys",
            "The time from the start of a wipe until every key of a vault with 10 GiB of files is destroyed.")
    ]

    private static let databases = [
        Meaning(
            "db-insert",
            "Creates a database of documents in one transaction, then two indices; `sqlcipher4` names "
                + "SQLCipher's format."),
        Meaning("db-scan", "Searches the body of every document of a database for text that it lacks."),
        Meaning("db-point", "Looks up documents one by one through an index, in an unrelated order."),
        Meaning("db-commit", "Updates documents, each in a transaction of its own, in a database on a disk."),
    ]

    private static let keyPairs = [
        Meaning(
            "keys-pkcs11-ecdsa",
            "Signs a digest with ECDSA over P-256 for another program by PKCS #11, through p11-kit, with a "
                + "key pair of a vault without a passcode.")
    ]
}
