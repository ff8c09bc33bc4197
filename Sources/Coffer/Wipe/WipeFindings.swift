import CofferBase

/// The findings of a wipe so far. The wipe continues after failures and reports all of them at the end.
struct WipeFindings {
    /// The number of removed items of each kind.
    var removed: [String: Int] = [:]
    /// Items that cannot be proved to be gone.
    var unverified: [String] = []
    /// Items that are provably still there, and why.
    private(set) var remaining: [(name: String, reason: CofferError)] = []

    /// Records that an item is provably still there.
    mutating func note(_ name: String, remainsBecause reason: CofferError) {
        remaining.append((name, reason))
    }

    /// Records a failed attempt that leaves no item that can be found.
    mutating func noteUnverified(_ name: String, because reason: CofferError) {
        unverified.append("\(name) (\(reason.code.name): \(reason.message))")
    }

    mutating func count(_ kind: String, _ number: Int = 1) {
        if number > 0 { removed[kind, default: 0] += number }
    }

    var failures: [String] { remaining.map { "\($0.name): \($0.reason.message)" } }

    /// The error of an incomplete wipe, with the code of the first failure; `nil` if nothing is left.
    var failure: CofferError? {
        guard let first = remaining.first else { return nil }
        return CofferError(
            first.reason.code,
            "Not everything could be erased. Still there: \(failures.joined(separator: " ")) Fix "
                + "that and wipe again; everything else is gone.", remedy: first.reason.remedy,
            systemError: first.reason.systemError)
    }
}

/// The end of a wipe: its receipt, and the error if anything is left.
struct WipeEnd: Sendable {
    let receipt: WipeReceipt
    /// `nil` if everything is gone.
    let failure: CofferError?

    /// Returns the receipt of a complete wipe; throws if anything is left.
    func complete() throws(CofferError) -> WipeReceipt {
        if let failure { throw failure }
        return receipt
    }
}
