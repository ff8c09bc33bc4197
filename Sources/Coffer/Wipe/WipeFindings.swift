import CofferBase

/// A wipe's findings so far. The wipe continues after failures and reports all of them at the end.
struct WipeFindings {
    /// The number of removed items, by kind.
    var removed: [String: Int] = [:]
    /// The items that cannot be proved to be gone.
    var unverified: [String] = []
    /// The items that are provably still there, each with the reason.
    private(set) var remaining: [(name: String, reason: CofferError)] = []

    /// The entry for sessions, which a wipe does not end: it sends nothing.
    static let sessions = "sessions at servers: tokens were erased here, and not revoked there"

    /// Records that sessions may be left at servers if tokens were removed. Which tokens they were is
    /// unknown: a wipe does not read them.
    mutating func noteSessions() {
        let kinds = ["tokens", "tokenFiles", "keyringItems"]
        guard kinds.contains(where: { removed[$0, default: 0] > 0 }) else { return }
        if !unverified.contains(where: { $0.hasSameBytes(as: Self.sessions) }) {
            unverified.append(Self.sessions)
        }
    }

    /// Records that an item is provably still there.
    mutating func note(_ name: String, remainsBecause reason: CofferError) {
        remaining.append((name, reason))
    }

    /// Records a failure whose effect cannot be checked.
    mutating func noteUnverified(_ name: String, because reason: CofferError) {
        unverified.append("\(name) (\(reason.code.name): \(reason.message))")
    }

    /// Records what cannot be proved to be gone from the kernel keyring.
    mutating func noteUnverified(_ left: KernelKeyCache.Remains) {
        unverified += left.hidden.map {
            "\($0) in the kernel keyring, which another process of this user hid"
        }
        if let doubt = left.doubt {
            noteUnverified("keys in the kernel keyring, which could not be searched", because: doubt)
        }
    }

    mutating func count(_ kind: String, _ number: Int = 1) {
        if number > 0 { removed[kind, default: 0] += number }
    }

    var failures: [String] { remaining.map { "\($0.name): \($0.reason.message)" } }

    /// The error for an incomplete wipe, with the first failure's code; `nil` if nothing is left.
    var failure: CofferError? {
        guard let first = remaining.first else { return nil }
        return CofferError(
            first.reason.code,
            "The wipe is incomplete. These items could not be erased: \(failures.joined(separator: " ")) "
                + "Resolve the causes, then wipe again. Everything else was erased.",
            remedy: first.reason.remedy,
            systemError: first.reason.systemError)
    }
}

/// The result of a finished wipe: the receipt, and an error if anything is left.
struct WipeEnd: Sendable {
    let receipt: WipeReceipt
    /// The error that describes what is left; `nil` if everything is gone.
    let failure: CofferError?

    /// Returns the receipt if the wipe is complete; throws if anything is left.
    func complete() throws(CofferError) -> WipeReceipt {
        if let failure { throw failure }
        return receipt
    }
}
