package import CofferBase
import CofferCrypto
package import CofferEngine
package import SystemPackage

/// The sealed file in which ``FileStorage`` stores all envelopes. Every change replaces the file.
///
/// Layout: magic (8), version (2), 6 zero bytes, vault id (16), and the nonce ‖ ciphertext ‖ tag of
/// XChaCha20-Poly1305 with the first 32 bytes of the file as associated data. Plaintext: generation (8),
/// number of items (4), and, for each item in the order of the names, its keyed name (32), the envelope's
/// length (4) and the envelope. The key is derived from the device key. The encryption hides the names and
/// the number of items; each value is sealed under its own key.
package struct TokenFile {
    package static let fileName: FilePath = "tokens"
    private static let erasedName: FilePath = "tokens-erased"
    private static let headerSize = 32
    /// The offset of the nonce, which is different after every change.
    package static let markOffset = headerSize
    private static let nameSize = 32
    /// The maximum size of a token file: 4 GiB.
    private static let sizeLimit = 1 << 32

    /// The items at one point in time, by keyed name.
    package struct Contents: Sendable {
        package var generation: UInt64
        package var envelopes: [[UInt8]: [UInt8]]

        package init(generation: UInt64, envelopes: [[UInt8]: [UInt8]]) {
            self.generation = generation
            self.envelopes = envelopes
        }
    }

    /// The contents of a token file, with the open file from which they were read. While the file is open,
    /// its inode is not reused, so ``isCurrent(_:in:)`` can compare the inode.
    package final class Snapshot: Sendable {
        package let contents: Contents
        fileprivate let status: FileStatus
        private let file: Descriptor

        fileprivate init(_ contents: Contents, status: FileStatus, file: consuming Descriptor) {
            self.contents = contents
            self.status = status
            self.file = file
        }
    }

    package let device: DeviceKey

    package init(device: DeviceKey) { self.device = device }

    /// Creates a token file without items. Only vault creation calls this function, because a missing token
    /// file in an existing vault is an error.
    package static func create(device: DeviceKey, in vault: borrowing Descriptor) throws(CofferError) {
        let empty = try TokenFile(device: device).seal(Contents(generation: 1, envelopes: [:]))
        let file = try vault.open(fileName, [.readWrite, .exclusive])
        try file.write(empty.span, at: 0)
        try file.sync()
    }

    /// Reads the token file. Every change replaces the file, so reading needs no lock.
    package func read(
        in vault: borrowing Descriptor, _ name: FilePath = Self.fileName
    ) throws(CofferError) -> Snapshot {
        let file = try vault.open(name, .read)
        let status = try file.status()
        guard status.kind == .regular else { throw corruptError }
        let contents = try open(file.readAll(limit: Self.sizeLimit))
        return Snapshot(contents, status: status, file: file)
    }

    /// Returns whether the vault's token file is still the one in `snapshot`. A change replaces the file,
    /// except that on a full disk an erasure overwrites the file in place and changes its size.
    package func isCurrent(_ snapshot: Snapshot, in vault: borrowing Descriptor) throws(CofferError) -> Bool {
        try vault.status(of: Self.fileName) == snapshot.status
    }

    /// Replaces the file with one that stores `contents`. Call this function only while you hold the vault
    /// directory's lock, with contents that are based on the file as read under that lock.
    package func write(_ contents: Contents, in vault: borrowing Descriptor) throws(CofferError) {
        var next = contents
        next.generation += 1
        let sealed = try seal(next)
        try vault.removeTemporaries()
        try vault.replace(Self.fileName, with: sealed.span)
    }

    /// Replaces the file with one that contains only the items with these names, and overwrites the old file
    /// in place, because the content of a file that is only replaced stays readable on disk. The caller may
    /// repeat the call after a crash at any point. Returns the number of removed items, counting only those
    /// that could be read.
    package func erase(keeping names: Set<[UInt8]>, in vault: borrowing Descriptor) throws(CofferError) -> Int
    {
        // Erase the file even if it cannot be read. If a crash interrupted an earlier overwrite, the second
        // file contains the items to keep.
        let former = try? read(in: vault)
        let begun = former == nil ? try? read(in: vault, Self.erasedName) : nil
        let all = (former ?? begun)?.contents ?? first(in: vault)
        let kept = all.envelopes.filter { names.contains($0.key) }
        let sealed = try seal(Contents(generation: all.generation + 1, envelopes: kept))
        if begun?.contents.envelopes.count != kept.count {
            try vault.removeTree(Self.erasedName, overwriting: true)
            do throws(CofferError) {
                let file = try vault.open(Self.erasedName, [.readWrite, .exclusive])
                try file.write(sealed.span, at: 0)
                try file.sync()
            } catch {
                guard error.code == .noSpace else { throw error }
                try vault.removeTree(Self.erasedName, overwriting: true)
                try overwrite(with: sealed, in: vault)
                return all.envelopes.count - kept.count
            }
        }
        if try vault.status(of: Self.fileName) == nil {
            try vault.rename(Self.erasedName, to: Self.fileName)
        } else if try !vault.exchangeIfPossible(Self.erasedName, Self.fileName) {
            // Not every file system can exchange names.
            try vault.sync()
            try overwrite(with: sealed, in: vault)
        }
        try vault.sync()
        try vault.removeTree(Self.erasedName, overwriting: true)
        try vault.sync()
        return all.envelopes.count - kept.count
    }

    /// Overwrites the file in place, because a full disk has no space for a second file. A single write
    /// replaces the old bytes with the kept items, so only a power failure during that write can lose the
    /// items.
    private func overwrite(with sealed: [UInt8], in vault: borrowing Descriptor) throws(CofferError) {
        let file = try vault.open(Self.fileName, .readWrite)
        let size = try file.status().size
        try file.write(sealed.span, at: 0)
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var offset = Int64(sealed.count)
        while offset < size {
            let count = Int(min(Int64(zeros.count), size - offset))
            try file.write(zeros.span.extracting(..<count), at: offset)
            offset += Int64(count)
        }
        try file.sync()
        try file.truncate(to: Int64(sealed.count))
        try file.sync()
    }

    /// Returns the contents of a token file without items, to which a first ``write(_:in:)`` adds. The
    /// generation is not lower than the one that the vault's anchors know.
    package func first(in vault: borrowing Descriptor) -> Contents {
        let known = try? AnchorRecord.record.read(device: device, in: vault).payload.generations.tokens
        return Contents(generation: known ?? 0, envelopes: [:])
    }

    private var corruptError: CofferError {
        CofferError(.corrupt, "The token file is damaged.", remedy: .restoreOrWipeTokens)
    }

    private var header: [UInt8] {
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.tokens.utf8))
        writer.append(UInt16(1))
        writer.pad(to: 16)
        writer.append(device.vaultID.bytes)
        return writer.bytes
    }

    private func seal(_ contents: Contents) throws(CofferError) -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(contents.generation)
        writer.append(UInt32(contents.envelopes.count))
        for (name, envelope) in contents.envelopes.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            writer.append(name)
            writer.appendLengthPrefixed(envelope)
        }
        let header = header
        let key = try device.key(KDFLabel.tokenFile)
        return header + (try XChaCha20Poly1305.seal(writer.bytes.span, key: key, associatedData: header.span))
    }

    private func open(_ bytes: [UInt8]) throws(CofferError) -> Contents {
        var head = BinaryReader(bytes, name: "token file", remedy: .restoreOrWipeTokens)
        guard try head.take(8) == Array(FileMagic.tokens.utf8) else { throw corruptError }
        guard try head.number(UInt16.self) == 1 else {
            throw CofferError(
                .unsupportedVersion, "The token file was written by a newer release or is damaged.",
                remedy: .useNewerRelease)
        }
        try head.skip(6)
        guard try head.take(16) == device.vaultID.bytes else {
            throw CofferError(
                .foreign, "The token file belongs to another vault or is damaged.", remedy: .restoreVault)
        }
        let key = try device.key(KDFLabel.tokenFile)
        let plaintext: [UInt8]
        do throws(CofferError) {
            plaintext = try XChaCha20Poly1305.openToArray(
                bytes.span.extracting(Self.headerSize...), key: key,
                associatedData: bytes.span.extracting(..<Self.headerSize))
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw corruptError
        }
        var reader = BinaryReader(plaintext, name: "token file", remedy: .restoreOrWipeTokens)
        var contents = Contents(generation: try reader.number(), envelopes: [:])
        let count = Int(try reader.number(UInt32.self))
        contents.envelopes.reserveCapacity(min(count, reader.remaining / Self.nameSize))
        for _ in 0..<count {
            let name = try reader.take(Self.nameSize)
            contents.envelopes[name] = try reader.lengthPrefixed()
        }
        guard reader.remaining == 0, contents.envelopes.count == count else { throw corruptError }
        return contents
    }
}
