import CofferBase
public import FoundationEssentials

/// The result of a wipe, including everything that the wipe cannot prove.
///
/// The erasure is cryptographic: the keys under this vault's control are destroyed, and the data encrypted
/// under them is unreadable. In the terms of NIST SP 800-88, such an erasure is Clear, not Purge.
public struct WipeReceipt: Sendable, Codable, Equatable {
    /// The id of the vault that was wiped; all zeros if nothing in the vault directory revealed the id.
    public let vaultID: UUID
    /// The name of the scope that was wiped (``WipeScope/name``).
    public let scope: String
    /// The reason that was stated for the wipe.
    public let reason: String
    /// The SHA-256 digest, in hexadecimal, of the signed command that was carried out; `nil` if no
    /// command requested the wipe.
    public let orderDigest: String?
    /// The time at which the wipe began.
    public let started: Date
    /// The time at which the wipe ended.
    public let finished: Date
    /// The time in milliseconds from the start until every key was destroyed; `nil` if the step that destroys
    /// the keys left a file that may hold a key. ``failures`` lists what is still there at the end.
    public let keysDestroyedAfterMilliseconds: Double?
    /// Whether this wipe completed an interrupted wipe.
    public let completesInterrupted: Bool
    /// The number of items that were removed and verified to be gone, by kind: keys, viewCopies, files,
    /// tokenFiles, tokens, keyringItems, namespaces, others.
    public private(set) var removed: [String: Int]
    /// The items that cannot be proved to be gone.
    public private(set) var unverified: [String]
    /// The items that are provably still there, each with the reason; empty if the wipe is complete.
    public private(set) var failures: [String]

    /// The coding keys, which are the same as in earlier releases.
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

    /// Decodes a receipt, even one from a release without `failures`.
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

    /// Whether tokens were erased, with which sessions may go on at servers.
    package var mayLeaveSessions: Bool {
        unverified.contains { $0.hasSameBytes(as: WipeFindings.sessions) }
    }

    /// Returns a copy with later findings.
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
