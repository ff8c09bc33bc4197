public import CofferBase
public import CofferCrypto
import CofferEngine
import CofferVault

/// Certificates for key pairs.
extension KeyPairStore {
    /// Returns a request for a certificate (PKCS #10), for an authority to sign. A key pair without a
    /// certificate awaits one from then on; a present certificate stays in use until
    /// ``install(_:for:allowsExpired:)`` replaces it. During a rotation, the request is for the new key pair.
    ///
    /// - Parameters:
    ///   - alias: The key pair's alias.
    ///   - subject: The owner's name.
    ///   - names: The owner's alternative names, at most 100.
    ///   - purpose: The purpose for which the certificate is asked; `nil` for the client's authentication if
    ///     the key pair may be used for it, else for signatures.
    ///   - confirm: A closure that asks a person whether to sign, for a key pair that requires it.
    /// - Returns: The request in DER.
    /// - Throws: `absent` if there is no such key pair; `refused` if its uses do not include the purpose, or
    ///   if the signature was not confirmed; `invalidInput` for too many names; `locked`, `busy`, `corrupt`,
    ///   `noSpace`, `readOnly` or `wiped`.
    public func csr(
        for alias: String, subject: CertificateSubject, names: [CertificateName] = [],
        purpose: CertificatePurpose? = nil,
        confirm: @escaping @Sendable (KeyPair) -> Bool = { _ in false }
    ) async throws(CofferError) -> [UInt8] {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            guard let record = try contents().newest(alias) else { throw Self.absent }
            let purpose = purpose ?? .standard(for: record.pair.uses)
            let key = try privateKey(of: record, for: purpose.use, confirm)
            let request = try CertificateWriter.request(key, subject, names, purpose)
            try change(record.pair) { (pair) throws(CofferError) in
                var pair = pair
                pair.isAwaitingCertificate = pair.chain == nil
                return pair
            }
            return request
        }
    }

    /// Makes a certificate that the key pair signs itself, and installs it. Others accept it only if they
    /// know it. During a rotation, it is the new key pair's, which becomes the current one.
    ///
    /// - Parameters:
    ///   - alias: The key pair's alias.
    ///   - subject: The owner's name.
    ///   - names: The owner's alternative names, at most 100.
    ///   - purpose: The purpose that the certificate states; `nil` as with
    ///     ``csr(for:subject:names:purpose:confirm:)``.
    ///   - days: The number of days for which it is valid, 1 to 825.
    ///   - isReplacing: Whether it may replace a certificate that the key pair has.
    ///   - confirm: A closure that asks a person whether to sign, for a key pair that requires it.
    /// - Returns: The certificate, as the only one of a chain.
    /// - Throws: `alreadyExists` if the key pair has a certificate that must not be replaced; `invalidInput`
    ///   for another number of days; the errors that ``csr(for:subject:names:purpose:confirm:)`` throws.
    public func selfSign(
        _ alias: String, subject: CertificateSubject, names: [CertificateName] = [],
        purpose: CertificatePurpose? = nil, days: Int = 365, replacing isReplacing: Bool = false,
        confirm: @escaping @Sendable (KeyPair) -> Bool = { _ in false }
    ) async throws(CofferError) -> CertificateChain {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            guard let record = try contents().newest(alias) else { throw Self.absent }
            guard isReplacing || record.pair.chain == nil else { throw Self.hasCertificate }
            let purpose = purpose ?? .standard(for: record.pair.uses)
            let key = try privateKey(of: record, for: purpose.use, confirm)
            let now = core.clock.wallClock().components.seconds
            let chain = try CertificateChain(
                reading: CertificateWriter.selfSigned(key, subject, names, purpose, from: now, days: days))
            try chain.check(for: record.pair.publicKey, at: now)
            try change(record.pair) { (pair) throws(CofferError) in
                guard isReplacing || pair.chain == nil else { throw Self.hasCertificate }
                return pair.with(chain)
            }
            return chain
        }
    }

    /// Installs a key pair's certificate, and those of the authorities above it, in place of the ones that it
    /// has. The private key must be available, because the certificates are bound to it.
    ///
    /// During a rotation, the certificate may be for the new key pair, which then becomes the current one and
    /// the present one a former one, or for the current key pair, which changes only its certificate.
    ///
    /// - Parameters:
    ///   - chain: The certificates, the key pair's own one first, each followed by that of the authority that
    ///     signed it. `CertificateChain` reads them from a file.
    ///   - alias: The key pair's alias.
    ///   - allowsExpired: Whether certificates may have expired.
    /// - Returns: The key pair with the certificates.
    /// - Throws: `absent` if there is no such key pair; the errors that
    ///   `CertificateChain.check(for:at:allowsExpired:)` throws, in which case nothing changes; `locked`,
    ///   `refused`, `busy`, `corrupt`, `noSpace`, `readOnly` or `wiped`.
    @discardableResult
    public func install(
        _ chain: CertificateChain, for alias: String, allowsExpired: Bool = false
    ) async throws(CofferError) -> KeyPair {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let contents = try contents()
            guard let current = contents.record(alias)?.pair else { throw Self.absent }
            let now = core.clock.wallClock().components.seconds
            var pair = contents.newest(alias)?.pair ?? current
            do throws(CofferError) {
                try chain.check(for: pair.publicKey, at: now, allowsExpired: allowsExpired)
            } catch {
                guard error.code == .conflict, pair != current else { throw error }
                pair = current
                try chain.check(for: pair.publicKey, at: now, allowsExpired: allowsExpired)
            }
            return try change(pair) { (pair) throws(CofferError) in pair.with(chain) }
        }
    }

    private static var hasCertificate: CofferError {
        CofferError(.alreadyExists, "The key pair has a certificate already, which was not replaced.")
    }

    /// Replaces the description of a key pair, and seals its private key again, to which the description is
    /// bound. Returns the new description.
    @discardableResult
    private func change(
        _ known: KeyPair, to change: (KeyPair) throws(CofferError) -> KeyPair
    ) throws(CofferError) -> KeyPair {
        let changed = try core.home.withExclusiveVault { (vault) throws(CofferError) -> KeyPair? in
            var contents = try file.read(in: vault)
            // It may have been renamed or removed since it was read.
            guard let old = contents.records.first(where: { $0.pair.id == known.id }) else { return nil }
            let pair = try change(old.pair)
            guard pair != old.pair else { return pair }
            if old.pair.role == .former { throw Self.isFormer }
            // The key pair that takes over does so in the same change in which the other one gives up.
            if pair.role == .current, old.pair.role == .next, let current = contents.record(pair.alias) {
                contents.replace(try resealed(current, as: current.pair.with(.former)))
            }
            contents.replace(try resealed(old, as: pair))
            try file.write(contents, in: vault)
            return pair
        }
        guard let changed else { throw Self.absent }
        return changed
    }

    private static var isFormer: CofferError {
        CofferError(.conflict, "The key pair was replaced by a rotation meanwhile. Nothing was changed.")
    }
}

extension CertificatePurpose {
    /// The use that a key pair must have.
    fileprivate var use: KeyPairUses {
        switch self {
        case .client: .tlsClient
        case .signature: .sign
        }
    }

    /// The purpose of the certificate for a key pair with these uses.
    fileprivate static func standard(for uses: KeyPairUses) -> CertificatePurpose {
        uses.contains(.tlsClient) ? .client : .signature
    }
}
