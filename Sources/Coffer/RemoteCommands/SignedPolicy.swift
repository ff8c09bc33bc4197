public import CofferBase
public import CofferCrypto
public import CofferVault
public import FoundationEssentials

/// A policy for a vault that an administrator signed, for machines without a policy in `/etc`.
///
/// The contents may be shown to a user, but nothing may follow from them before ``Vault/takePolicy(_:)``
/// has verified the policy. A vault takes a policy once, while it is valid, and then obeys it until it takes
/// a newer one or until its owner removes the key that signed it: time never loosens a rule.
///
/// ```swift
/// let bytes = try SignedPolicy.sign(
///     document, as: .json, for: .vault(vaultID), counter: 7, issued: Date(), expires: Date() + 86_400,
///     by: seed)
/// try await vault.takePolicy(SignedPolicy.read(bytes))
/// ```
public struct SignedPolicy: Sendable, Hashable {
    /// The greatest size of a document in bytes.
    public static let maxDocumentByteCount = SignedPolicyFields.maxDocumentByteCount
    /// The greatest size of a signed policy in bytes.
    public static let maxByteCount = SignedPolicyFields.maxByteCount

    /// The policy's recipient: one vault, or every vault on a machine.
    public let target: RemoteCommand.Target
    /// The key with which the policy claims to be signed.
    public let claimedSigner: AdministratorKey
    /// All of the policy's bytes.
    let bytes: [UInt8]
    /// The fields as the bytes contain them.
    let fields: SignedPolicyFields

    /// The counter, which must be greater than that of any policy that the vault has taken. Signed commands
    /// have counters of their own.
    public var counter: UInt64 { fields.counter }
    /// The time of issue, before which no vault takes the policy.
    public var issued: Date { Date(timeIntervalSince1970: Double(fields.issued)) }
    /// The time from which no vault takes the policy. A vault that has taken it keeps it.
    public var expires: Date { Date(timeIntervalSince1970: Double(fields.expires)) }
    /// The format of the document.
    public var format: PolicyDocument.Format { fields.format }
    /// The document's bytes.
    public var document: [UInt8] { fields.document }

    /// Reads a signed policy without verifying it. The document is not looked at.
    ///
    /// - Parameter bytes: All of the policy's bytes, including the signature.
    /// - Returns: The unverified policy.
    /// - Throws: `orderTooLong` if there are more than ``maxByteCount`` bytes; `orderUnsupportedVersion` if a
    ///   newer release created the policy; `orderMalformed` if the bytes are not a signed policy or are
    ///   damaged.
    public static func read(_ bytes: [UInt8]) throws(CofferError) -> SignedPolicy {
        let fields = try SignedPolicyFields(decoding: bytes)
        let target: RemoteCommand.Target
        switch fields.targetKind {
        case .device: target = .device(try DeviceID(fields.target))
        case .vault:
            guard let id = UUID(bytes: fields.target) else {
                throw CofferError(.orderMalformed, "The signed policy has no target.")
            }
            target = .vault(id)
        }
        return SignedPolicy(
            target: target, claimedSigner: try AdministratorKey(fields.signer), bytes: bytes, fields: fields)
    }

    /// Encodes and signs a policy.
    ///
    /// - Parameters:
    ///   - document: The document: 1 to ``maxDocumentByteCount`` bytes without mistakes.
    ///   - format: The document's format.
    ///   - target: The policy's recipient.
    ///   - counter: The counter: 1 to 2^64 - 2, and greater than in every earlier policy. The current time in
    ///     milliseconds is suitable.
    ///   - issued: The time of issue, in whole seconds.
    ///   - expires: The time from which no vault takes the policy, in whole seconds.
    ///   - seed: The 32-byte private key.
    /// - Returns: All bytes of the signed policy, for ``read(_:)``.
    /// - Throws: `invalidInput` if the document has a mistake or is too long, or if the counter, a time or
    ///   the seed's size is invalid.
    public static func sign(
        _ document: [UInt8], as format: PolicyDocument.Format, for target: RemoteCommand.Target,
        counter: UInt64, issued: Date, expires: Date, by seed: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        guard document.count <= maxDocumentByteCount else {
            throw CofferError(
                .invalidInput,
                "The document of a signed policy must be at most \(maxDocumentByteCount) bytes long.")
        }
        let mistake = PolicyDocument(reading: document, as: format).findings.first { $0.kind == .error }
        if let mistake { throw CofferError(.invalidInput, "\(mistake)") }
        let (from, until) = try RemoteCommand.checkedPeriod(issued, expires, counter: counter, of: noun)
        let (kind, id): (SignedPolicyFields.TargetKind, [UInt8]) =
            switch target {
            case .vault(let id): (.vault, id.bytes)
            case .device(let id): (.device, id.bytes)
            }
        let fields = SignedPolicyFields(
            document, as: format, for: kind, id, counter: counter, issued: from, expires: until,
            signer: try AdministratorKey(of: seed).bytes)
        return try signed(fields, by: seed)
    }

    private static func signed(
        _ fields: SignedPolicyFields, by seed: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        let body = fields.encoded
        return body + (try Ed25519.sign(body.span, seed: seed))
    }

    /// Returns the bytes that signing the same contents, which may not be a valid document, produces.
    package func signedAgain(by seed: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        try Self.signed(fields, by: seed)
    }

    /// Checks the signature, the counter's range, the validity period and the document. Checks neither the
    /// recipient nor whether a vault has taken the policy.
    ///
    /// - Parameters:
    ///   - keys: The keys that may have signed the policy.
    ///   - date: The time at which the policy must be valid.
    /// - Returns: The document.
    /// - Throws: The errors of ``Vault/verifyPolicy(_:)``, except `orderForeign` and `orderReplayed`.
    @discardableResult
    public func check(
        signedBy keys: [AdministratorKey], at date: Date = Date()
    ) throws(CofferError) -> PolicyDocument {
        try SignedDocumentRules(keys: keys, meeting: target, at: date).verify(self, after: 0)
        return try fields.validDocument()
    }
}

extension SignedPolicy: SignedDocument {
    static var noun: String { "policy" }
}
