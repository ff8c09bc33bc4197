import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import SystemPackage

/// The sealed file with all key pairs of a vault. Every change replaces the file. A vault without key pairs
/// has none.
///
/// Layout: magic (8), version (2), 6 zero bytes, vault id (16), and the nonce ‖ ciphertext ‖ tag of
/// XChaCha20-Poly1305 with the first 32 bytes of the file as associated data. Plaintext: generation (8),
/// number of key pairs (4), and, for each in the order of the identifiers, length (4) and ``KeyPairRecord``.
/// The key is derived from the device key, so that a locked vault still lists its key pairs.
struct KeyPairFile {
    static let fileName = VaultDirectory.keyPairsName
    /// The maximum number of key pairs.
    static let maxCount = 1000
    private static let headerSize = 32
    /// The maximum number of times that a file that is replaced meanwhile is read.
    private static let maxReadings = 100
    private static let sizeLimit = 8 << 20
    private static let displayName = "file of key pairs"

    let device: DeviceKey

    /// The key pairs at one point in time.
    struct Contents: Sendable {
        var generation: UInt64 = 0
        var records: [KeyPairRecord] = []

        /// Returns the current key pair with an alias, compared as bytes.
        func record(_ alias: String) -> KeyPairRecord? {
            all(alias).first { $0.pair.role == .current }
        }

        /// Returns the key pair with an alias that gets the next certificate: the new one of a rotation, else
        /// the current one.
        func newest(_ alias: String) -> KeyPairRecord? {
            all(alias).first { $0.pair.role == .next } ?? record(alias)
        }

        /// Returns the key pairs with an alias, also those that are not current.
        func all(_ alias: String) -> [KeyPairRecord] {
            records.filter { $0.pair.alias.hasSameBytes(as: alias) }
        }

        /// The descriptions, sorted by the bytes of the alias; of those with one alias, the newest first.
        var sortedPairs: [KeyPair] {
            records.map(\.pair).sorted {
                $0.alias.hasSameBytes(as: $1.alias)
                    ? $0.generation > $1.generation : $0.alias.utf8.lexicographicallyPrecedes($1.alias.utf8)
            }
        }

        /// The key pairs in the class that requires a passcode.
        var passcodeDependent: [KeyPairRecord] { records.filter { $0.pair.protection.requiresPasscode } }

        /// Replaces the record of the same key pair.
        mutating func replace(_ record: KeyPairRecord) {
            guard let place = records.firstIndex(where: { $0.pair.id == record.pair.id }) else { return }
            records[place] = record
        }
    }

    /// Reads the file. Every change replaces the file, so reading needs no lock.
    func read(in vault: borrowing Descriptor) throws(CofferError) -> Contents {
        for _ in 0..<Self.maxReadings {
            let file: Descriptor
            do throws(CofferError) {
                file = try vault.open(Self.fileName, .read)
            } catch {
                guard error.code == .absent else { throw error }
                return Contents()
            }
            let status = try file.status()
            guard status.kind == .regular else { throw corruptError }
            do throws(CofferError) {
                return try open(file.readAll(limit: Self.sizeLimit))
            } catch {
                // A file from which a key pair was removed is replaced, and then overwritten.
                guard Self.isUnreadable(error), let now = try vault.status(of: Self.fileName),
                    !now.isSameFile(as: status)
                else { throw error }
            }
        }
        throw CofferError(.busy, "The \(Self.displayName) keeps changing. Try again.")
    }

    /// Replaces the file. Call this function only while you hold the vault directory's lock, with contents
    /// that are based on the file as read under that lock.
    ///
    /// - Parameters:
    ///   - contents: The new contents.
    ///   - vault: The vault's directory.
    ///   - overwriting: Whether to overwrite the old file's blocks, because a private key was removed. A
    ///     crash between the two steps leaves the old blocks, in which the key stays sealed.
    /// - Throws: `refused` for more than ``maxCount`` key pairs or 8 MiB; `noSpace` or `readOnly`.
    func write(
        _ contents: Contents, in vault: borrowing Descriptor, overwriting: Bool = false
    ) throws(CofferError) {
        guard contents.records.count <= Self.maxCount else {
            throw CofferError(.refused, "A vault stores at most \(Self.maxCount) key pairs.")
        }
        var next = contents
        next.generation += 1
        let sealed = try seal(next)
        guard sealed.count <= Self.sizeLimit else {
            throw CofferError(
                .refused, "The key pairs of a vault and their certificates take at most 8 MiB.")
        }
        try vault.removeTemporaries()
        guard overwriting else { return try vault.replace(Self.fileName, with: sealed.span) }
        let old = try vault.open(Self.fileName, .readWrite)
        try vault.replace(Self.fileName, with: sealed.span)
        let zeros = [UInt8](repeating: 0, count: Int(try old.status().size))
        try old.write(zeros.span, at: 0)
        try old.syncData()
    }

    /// Whether the error of reading the file means that its content cannot be read as this vault's.
    static func isUnreadable(_ error: CofferError) -> Bool {
        [.corrupt, .foreign, .notAuthentic, .unsupportedVersion].contains(error.code)
    }

    private var corruptError: CofferError {
        CofferError(.corrupt, "The \(Self.displayName) is damaged.", remedy: .restoreVault)
    }

    private var header: [UInt8] {
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.keyPairs.utf8))
        writer.append(UInt16(1))
        writer.pad(to: 16)
        writer.append(device.vaultID.bytes)
        return writer.bytes
    }

    private func seal(_ contents: Contents) throws(CofferError) -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(contents.generation)
        writer.append(UInt32(contents.records.count))
        let sorted = contents.records.sorted { $0.pair.id.bytes.lexicographicallyPrecedes($1.pair.id.bytes) }
        for record in sorted { writer.appendLengthPrefixed(record.encoded) }
        let header = header
        let key = try device.key(KDFLabel.keyPairFile)
        return header + (try XChaCha20Poly1305.seal(writer.bytes.span, key: key, associatedData: header.span))
    }

    private func open(_ bytes: [UInt8]) throws(CofferError) -> Contents {
        var head = BinaryReader(bytes, name: Self.displayName, remedy: .restoreVault)
        guard try head.take(8) == Array(FileMagic.keyPairs.utf8) else { throw corruptError }
        guard try head.number(UInt16.self) == 1 else {
            throw CofferError(
                .unsupportedVersion,
                "The \(Self.displayName) was written by a newer release or is damaged.",
                remedy: .useNewerRelease)
        }
        try head.skip(6)
        guard try head.take(16) == device.vaultID.bytes else {
            throw CofferError(
                .foreign, "The \(Self.displayName) belongs to another vault or is damaged.",
                remedy: .restoreVault)
        }
        let key = try device.key(KDFLabel.keyPairFile)
        let plaintext: [UInt8]
        do throws(CofferError) {
            plaintext = try XChaCha20Poly1305.openToArray(
                bytes.span.extracting(Self.headerSize...), key: key,
                associatedData: bytes.span.extracting(..<Self.headerSize))
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw corruptError
        }
        var reader = BinaryReader(plaintext, name: Self.displayName, remedy: .restoreVault)
        var contents = Contents(generation: try reader.number())
        let count = Int(try reader.number(UInt32.self))
        for _ in 0..<count {
            contents.records.append(try KeyPairRecord.decode(try reader.lengthPrefixed()))
        }
        guard reader.remaining == 0 else { throw corruptError }
        return contents
    }
}
