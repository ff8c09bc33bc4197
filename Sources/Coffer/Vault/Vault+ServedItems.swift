package import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import SystemPackage

/// Support for a service that gives other programs this vault's tokens.
///
/// The service answers searches while the vault is locked. For that, it keeps keyed hashes of the tokens'
/// attributes, under a key that is derived from the device key, in the file `served-index` of the vault's
/// directory. The file is made from the tokens at every unlock: losing it loses nothing.
extension Vault {
    private static let indexName: FilePath = "served-index"

    /// The largest index that is read, in bytes.
    private static let maxIndexSize = 64 << 20

    /// Hashes pairs of text under a key that is derived from the device key.
    package final class PairHasher: Sendable {
        private let key: SymmetricKey

        fileprivate init(_ key: consuming SymmetricKey) { self.key = key }

        /// Returns the first 16 bytes of the keyed hash of a pair, as two numbers.
        package func hash(_ name: String, _ value: String) throws(CofferError) -> (UInt64, UInt64) {
            var writer = BinaryWriter()
            writer.appendText(name)
            writer.appendText(value)
            let tag = try HMAC.authenticate(writer.bytes.span, key: key)
            return (tag.span.bigEndian(UInt64.self, at: 0), tag.span.bigEndian(UInt64.self, at: 8))
        }
    }

    /// Returns the hasher for the attributes of this vault's tokens.
    ///
    /// - Throws: `wiped`.
    package func pairHasher() throws(CofferError) -> PairHasher {
        PairHasher(try core.device.key(KDFLabel.servedAttribute))
    }

    /// Returns the number of the token file's last change, by any process; `nil` if the tokens are in the
    /// Secret Service. Every change adds one.
    ///
    /// - Throws: `wiped` or `corrupt`.
    package func tokenGeneration() async throws(CofferError) -> UInt64? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.activeStorage.generation()
        }
    }

    /// The magic and the version that this release writes.
    private static let indexHead = Array(FileMagic.servedIndex.utf8) + [0, 1]

    /// Returns the content of the index; `nil` if there is none, or if it is damaged or another vault's.
    ///
    /// - Throws: `unsupportedVersion` if a newer release wrote the file; `wiped`; the error that prevents
    ///   reading the file.
    package func servedIndex() async throws(CofferError) -> [UInt8]? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) -> [UInt8]? in
            guard let bytes = try Self.indexFile(in: core.home.openVault()) else { return nil }
            let context = Self.indexHead + core.device.vaultID.bytes
            let key = try core.device.key(KDFLabel.servedIndex)
            return try? XChaCha20Poly1305.openToArray(
                bytes.span.extracting(Self.indexHead.count...), key: key, associatedData: context.span)
        }
    }

    /// Returns the file of the index; `nil` if there is none, or if it does not begin like one.
    private static func indexFile(in vault: borrowing Descriptor) throws(CofferError) -> [UInt8]? {
        guard let status = try vault.status(of: indexName), status.size <= maxIndexSize else { return nil }
        let bytes = try vault.open(indexName, .read).readAll(limit: maxIndexSize)
        let magic = Array(FileMagic.servedIndex.utf8)
        guard bytes.count > indexHead.count, bytes.starts(with: magic) else { return nil }
        guard bytes.span.bigEndian(UInt16.self, at: magic.count) <= 1 else {
            throw CofferError(
                .unsupportedVersion,
                "The index of served items was written by a newer release or is damaged.",
                remedy: .useNewerRelease)
        }
        return bytes.starts(with: indexHead) ? bytes : nil
    }

    /// Replaces the index.
    ///
    /// - Throws: `unsupportedVersion` if a newer release wrote the present one; `wiped`, `busy`, `noSpace` or
    ///   `readOnly`.
    package func writeServedIndex(_ content: [UInt8]) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            let context = Self.indexHead + core.device.vaultID.bytes
            let key = try core.device.key(KDFLabel.servedIndex)
            let sealed = try XChaCha20Poly1305.seal(content.span, key: key, associatedData: context.span)
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                _ = try Self.indexFile(in: vault)
                try vault.replace(Self.indexName, with: (Self.indexHead + sealed).span)
            }
        }
    }

    /// The backend that holds the vault's tokens.
    package var tokenBackend: KeyringBackend {
        get throws(CofferError) { try core.activeStorage.backend() }
    }
}
