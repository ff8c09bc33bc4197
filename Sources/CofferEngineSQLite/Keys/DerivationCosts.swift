/// What deriving a key from a passphrase costs, by Argon2id with one lane.
package struct DerivationCost: Sendable, Equatable {
    package let memoryKiB: Int
    package let passes: Int

    package init(memoryKiB: Int, passes: Int) {
        self.memoryKiB = memoryKiB
        self.passes = passes
    }

    /// Whether it asks for no more than `other`, in either measure.
    package func isWithin(_ other: DerivationCost) -> Bool {
        memoryKiB <= other.memoryKiB && passes <= other.passes
    }
}

/// The cost of a new database's passphrase, and those that a file may ask for, which does so before anything
/// in it can be authenticated.
package struct DerivationCosts: Sendable {
    /// A new database's.
    package let own: DerivationCost
    /// The least that is accepted.
    package let floor: DerivationCost
    /// The most that a file is granted.
    package let granted: DerivationCost
    /// The most that a file is granted by somebody who knows where it comes from.
    package let ceiling: DerivationCost

    package init(
        own: DerivationCost, floor: DerivationCost, granted: DerivationCost, ceiling: DerivationCost
    ) {
        self.own = own
        self.floor = floor
        self.granted = granted
        self.ceiling = ceiling
    }

    /// Why a file that asks for `cost` is refused before anything is derived; `nil` when it is not.
    func refusal(_ cost: DerivationCost, lanes: Int) -> OpenDiagnosis? {
        guard lanes == 1, floor.isWithin(cost), cost.isWithin(ceiling) else { return .impossibleCost }
        return cost.isWithin(granted) || cost.isWithin(own) ? nil : .expensive(cost)
    }
}
