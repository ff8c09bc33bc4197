import CofferBase
public import FoundationEssentials

/// What a wipe did, and what it cannot vouch for.
///
/// The erasure is cryptographic: the keys under this vault's control are destroyed, and what was under them
/// is noise. That is clearing in the sense of NIST SP 800-88, not purging.
public struct WipeReceipt: Sendable, Codable, Equatable {
    /// The vault that is no more; zeros when nothing in the home told its id.
    public let vaultID: UUID
    /// What was wiped of it: ``WipeScope/name``.
    public let scope: String
    /// Why it was wiped.
    public let reason: String
    /// SHA-256, in hexadecimal, of the signed order that it carried out; `nil` without one.
    public let orderDigest: String?
    /// When it began.
    public let started: Date
    /// When it ended.
    public let finished: Date
    /// Milliseconds from its beginning until every key was destroyed; `nil` when a file that may hold one is
    /// still there, as ``failures`` then says.
    public let keysDestroyedAfterMilliseconds: Double?
    /// Whether this completed a wipe that had been interrupted.
    public let completesInterrupted: Bool
    /// How much of each kind was removed and found to be gone: keys, viewCopies, files, tokenFiles, tokens,
    /// keyringItems, namespaces, others.
    public private(set) var removed: [String: Int]
    /// What cannot be proved to be gone.
    public private(set) var unverified: [String]
    /// The things that are provably still there, and why: none when the wipe is complete.
    public private(set) var failures: [String]

    /// The names in a receipt, which those of earlier releases have, too.
    private enum CodingKeys: String, CodingKey {
        case vaultID, scope, reason, orderDigest, started, finished, keysDestroyedAfterMilliseconds
        case completesInterrupted, removed
        case unverified = "unproved"
        case failures
    }

    init(
        vaultID: UUID, scope: String, reason: String, orderDigest: String?, started: Date, finished: Date,
        keysDestroyedAfterMilliseconds: Double?, completesInterrupted: Bool, _ findings: WipeFindings
    ) {
        self.vaultID = vaultID
        self.scope = scope
        self.reason = reason
        self.orderDigest = orderDigest
        self.started = started
        self.finished = finished
        self.keysDestroyedAfterMilliseconds = keysDestroyedAfterMilliseconds
        self.completesInterrupted = completesInterrupted
        removed = findings.removed
        unverified = findings.unverified
        failures = findings.failures
    }

    /// Reads a receipt, also that of a release whose receipts know of no failures.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        vaultID = try fields.decode(UUID.self, forKey: .vaultID)
        scope = try fields.decode(String.self, forKey: .scope)
        reason = try fields.decode(String.self, forKey: .reason)
        orderDigest = try fields.decodeIfPresent(String.self, forKey: .orderDigest)
        started = try fields.decode(Date.self, forKey: .started)
        finished = try fields.decode(Date.self, forKey: .finished)
        keysDestroyedAfterMilliseconds = try fields.decodeIfPresent(
            Double.self, forKey: .keysDestroyedAfterMilliseconds)
        completesInterrupted = try fields.decode(Bool.self, forKey: .completesInterrupted)
        removed = try fields.decode([String: Int].self, forKey: .removed)
        unverified = try fields.decode([String].self, forKey: .unverified)
        failures = try fields.decodeIfPresent([String].self, forKey: .failures) ?? []
    }

    /// The same with what was found since.
    func with(_ findings: WipeFindings) -> WipeReceipt {
        var receipt = self
        (receipt.removed, receipt.unverified) = (findings.removed, findings.unverified)
        receipt.failures = findings.failures
        return receipt
    }

    /// The receipt as JSON.
    var json: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            encoder.dateEncodingStrategy = .iso8601
            return Array(try encoder.encode(self))
        }
    }
}
