import CofferBase
import CofferEngine

/// The reader of PKCS #12 files (RFC 7292).
///
/// OpenSSL's own reader leaves decrypted keys and passphrases in memory that it does not clear, and computes
/// whatever number of rounds a file demands. So this package reads the structure itself, and takes only the
/// ciphers and hash functions from OpenSSL.
struct PKCS12Reader: ~Copyable {
    private var passphrase: KeyFilePassphrase
    private var budget = KeyFileBudget()
    private var contents = KeyFileContents()
    /// The number of things in the file, of any kind.
    private var bags = 0
    private static let mostBags = 100
    private static let deepest = 4

    private init(_ passphrase: consuming KeyFilePassphrase) { self.passphrase = passphrase }

    /// Reads a file.
    ///
    /// - Throws: as `KeyBundle.reading(_:as:passphrase:)` says.
    static func read(
        _ file: Span<UInt8>, _ passphrase: () throws(CofferError) -> SecretBytes
    ) throws(CofferError) -> KeyFileContents {
        let normalized = try BERNormalizer.normalized(file)
        let bytes = normalized.span
        var cursor = DERCursor(0..<bytes.count)
        var outer = try cursor.sequence(bytes)
        guard try outer.small(bytes) == 3 else { throw BERNormalizer.malformed }
        var safe = try outer.sequence(bytes)
        guard !outer.isAtEnd else {
            throw CofferError(
                .unsupported,
                "The file has no checksum under its passphrase. Export the key again with one.")
        }
        let mac = try Authentication(&outer, bytes)
        try outer.end()
        guard try safe.oid(bytes) == KeyFileOID.data else {
            throw CofferError(
                .unsupported, "The file is signed, not protected by a passphrase, which is not supported.")
        }
        let content = try Self.explicitOctets(&safe, bytes)
        // Everything that costs work comes after this check of the first cost.
        var budget = KeyFileBudget()
        try mac.spend(from: &budget)
        var secret = try KeyFilePassphrase.make(passphrase())
        try mac.check(bytes.extracting(content), &secret, &budget)
        var reader = PKCS12Reader(secret)
        reader.budget = budget
        try reader.readSafe(bytes.extracting(content))
        return reader.contents
    }

    /// Reads an octet string inside an element with the tag 0, and returns the place of its content.
    private static func explicitOctets(
        _ cursor: inout DERCursor, _ bytes: Span<UInt8>
    ) throws(CofferError) -> Range<Int> {
        var tagged = try cursor.enter(DERCursor.explicit0, bytes)
        let place = try tagged.take(DERReader.octets, bytes)
        try tagged.end()
        try cursor.end()
        return place
    }

    // MARK: The checksum

    /// The checksum of a file under its passphrase.
    private struct Authentication {
        let digest: Digest
        let tag: [UInt8]
        let salt: [UInt8]
        let rounds: Int

        init(_ cursor: inout DERCursor, _ bytes: Span<UInt8>) throws(CofferError) {
            var all = try cursor.sequence(bytes)
            var info = try all.sequence(bytes)
            salt = try all.octets(bytes)
            rounds = all.isAtEnd ? 1 : try all.count(bytes)
            try all.end()
            var algorithm = try info.sequence(bytes)
            tag = try info.octets(bytes)
            try info.end()
            let oid = try algorithm.oid(bytes)
            guard let known = KeyFileOID.digests.first(where: { $0.oid == oid }) else {
                throw PassphraseScheme.unsupported
            }
            digest = known.digest
            try algorithm.noParameters(bytes)
        }

        func spend(from budget: inout KeyFileBudget) throws(CofferError) { try budget.spend(rounds) }

        /// Checks the checksum, and finds out in which form the passphrase is used if it is empty.
        func check(
            _ content: Span<UInt8>, _ passphrase: inout KeyFilePassphrase, _ budget: inout KeyFileBudget
        ) throws(CofferError) {
            if try isValid(content, passphrase) { return }
            guard passphrase.isEmpty else { throw PKCS8File.wrongPassphrase }
            try spend(from: &budget)
            passphrase.omitEnd()
            guard try isValid(content, passphrase) else { throw PKCS8File.wrongPassphrase }
        }

        private func isValid(
            _ content: Span<UInt8>, _ passphrase: borrowing KeyFilePassphrase
        ) throws(CofferError) -> Bool {
            let key = try passphrase.pkcs12(
                .authentication, salt: salt, rounds: rounds, digest, count: digest.size)
            let expected = try PKCS12Reader.tag(content, key, digest)
            return ConstantTime.equal(expected.span, tag.span)
        }
    }

    /// Returns the HMAC of a file's content.
    static func tag(
        _ content: Span<UInt8>, _ key: borrowing GuardedBytes, _ digest: Digest
    ) throws(CofferError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: digest.size)
        var span = tag.mutableSpan
        try HMACBinding.authenticate(content, key: key.span, digest: digest.engine, into: &span)
        return tag
    }

    // MARK: The contents

    /// Reads the sequence of parts, each encrypted or not.
    private mutating func readSafe(_ content: Span<UInt8>) throws(CofferError) {
        let normalized = try BERNormalizer.normalized(content)
        let bytes = normalized.span
        var cursor = DERCursor(0..<bytes.count)
        var parts = try cursor.sequence(bytes)
        while !parts.isAtEnd {
            var part = try parts.sequence(bytes)
            let oid = try part.oid(bytes)
            if oid == KeyFileOID.data {
                let place = try Self.explicitOctets(&part, bytes)
                try readBags(bytes.extracting(place), depth: 0)
            } else if oid == KeyFileOID.encryptedData {
                try readEncrypted(&part, bytes)
            } else {
                throw PassphraseScheme.unsupported
            }
        }
    }

    private mutating func readEncrypted(
        _ part: inout DERCursor, _ bytes: Span<UInt8>
    ) throws(CofferError) {
        var tagged = try part.enter(DERCursor.explicit0, bytes)
        try part.end()
        var data = try tagged.sequence(bytes)
        try tagged.end()
        _ = try data.small(bytes)
        var info = try data.sequence(bytes)
        guard try info.oid(bytes) == KeyFileOID.data else { throw PassphraseScheme.unsupported }
        let scheme = try PassphraseScheme(try info.take(DERReader.sequence, bytes), bytes)
        // The octet string has a tag of its own; in pieces, each has the tag of an octet string.
        if info.isNext(0x80, bytes) {
            let place = try info.take(0x80, bytes)
            try decryptBags(bytes.extracting(place), scheme)
        } else {
            var pieces = try info.enter(DERCursor.explicit0, bytes)
            var ciphertext: [UInt8] = []
            while !pieces.isAtEnd { ciphertext += try pieces.octets(bytes) }
            try decryptBags(ciphertext.span, scheme)
        }
        try info.end()
    }

    private mutating func decryptBags(
        _ ciphertext: Span<UInt8>, _ scheme: PassphraseScheme
    ) throws(CofferError) {
        let plaintext: GuardedBytes
        do throws(CofferError) {
            plaintext = try scheme.decrypt(ciphertext, passphrase, &budget)
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw PKCS8File.wrongPassphrase
        }
        try readBags(plaintext.span, depth: 0)
    }

    private mutating func readBags(_ content: Span<UInt8>, depth: Int) throws(CofferError) {
        guard depth < Self.deepest else { throw BERNormalizer.malformed }
        let normalized = try BERNormalizer.normalized(content)
        let bytes = normalized.span
        var cursor = DERCursor(0..<bytes.count)
        var all = try cursor.sequence(bytes)
        while !all.isAtEnd {
            var bag = try all.sequence(bytes)
            let oid = try bag.oid(bytes)
            let value = try bag.take(DERCursor.explicit0, bytes)
            if bag.isNext(DERCursor.set, bytes) { _ = try bag.take(DERCursor.set, bytes) }
            try bag.end()
            bags += 1
            guard bags <= Self.mostBags else {
                throw CofferError(.refused, "The file has more than \(Self.mostBags) parts.")
            }
            try read(oid, bytes.extracting(value), depth)
        }
    }

    private mutating func read(
        _ oid: [UInt8], _ value: Span<UInt8>, _ depth: Int
    ) throws(CofferError) {
        switch oid {
        case KeyFileOID.keyBag: try contents.add(key: try SecretBytes.copying(value))
        case KeyFileOID.encryptedKeyBag:
            try contents.requireRoom()
            try contents.add(key: try PKCS8File.decrypted(value, passphrase, &budget))
        case KeyFileOID.certificateBag: try readCertificate(value)
        case KeyFileOID.revocationBag: contents.others.append("revocation list")
        case KeyFileOID.secretBag: contents.others.append("secret")
        case KeyFileOID.nestedBag: try readBags(value, depth: depth + 1)
        default: contents.others.append("unknown part")
        }
    }

    private mutating func readCertificate(_ value: Span<UInt8>) throws(CofferError) {
        var cursor = DERCursor(0..<value.count)
        var bag = try cursor.sequence(value)
        try cursor.end()
        guard try bag.oid(value) == KeyFileOID.x509Certificate else {
            return contents.others.append("certificate of another kind than X.509")
        }
        let place = try Self.explicitOctets(&bag, value)
        try contents.add(certificate: value.extracting(place).copied())
    }
}
