import CofferBase

/// The findings of a wipe so far: it goes on past failures, and reports all of them at the end.
struct WipeFindings {
    /// How much of each kind was removed.
    var removed: [String: Int] = [:]
    /// The things that cannot be proved to be gone.
    var unverified: [String] = []
    /// The things that are provably still there, and why.
    private(set) var remaining: [(what: String, why: CofferError)] = []

    /// Notes that something is provably still there.
    mutating func note(_ what: String, remainsBecause why: CofferError) { remaining.append((what, why)) }

    /// Notes what failed in an attempt and leaves nothing behind that can be found.
    mutating func noteUnproved(_ what: String, because why: CofferError) {
        unverified.append("\(what) (\(why.code.name): \(why.message))")
    }

    mutating func count(_ kind: String, _ number: Int = 1) {
        if number > 0 { removed[kind, default: 0] += number }
    }

    var failures: [String] { remaining.map { "\($0.what): \($0.why.message)" } }

    /// The error that the wipe ends with when anything is left: of several, the first decides.
    var failure: CofferError? {
        guard let first = remaining.first else { return nil }
        return CofferError(
            first.why.code,
            "Not everything could be erased. Still there: \(failures.joined(separator: " ")) Mend that and "
                + "wipe again: what could be erased is gone.", systemError: first.why.systemError)
    }
}

/// How a wipe ended: what it did, and what is still there.
struct WipeEnd: Sendable {
    let receipt: WipeReceipt
    /// `nil` when everything is gone.
    let failure: CofferError?

    /// The receipt of a wipe that left nothing.
    func complete() throws(CofferError) -> WipeReceipt {
        if let failure { throw failure }
        return receipt
    }
}
