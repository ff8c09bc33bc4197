/// The cost of deriving a key from a passphrase, by Argon2id with one lane.
package struct DerivationCost: Sendable, Equatable {
    package let memoryKiB: Int
    package let passes: Int

    package init(memoryKiB: Int, passes: Int) {
        self.memoryKiB = memoryKiB
        self.passes = passes
    }

    /// Reports whether it demands no more than `other` in both measures.
    package func isWithin(_ other: DerivationCost) -> Bool {
        memoryKiB <= other.memoryKiB && passes <= other.passes
    }
}

/// The cost of a new database's passphrase, and the bounds for costs that a file demands before anything in
/// it can be authenticated.
package struct DerivationCosts: Sendable {
    /// The cost of a new database.
    package let own: DerivationCost
    /// The lowest cost that is accepted.
    package let floor: DerivationCost
    /// The highest cost that a file is granted.
    package let granted: DerivationCost
    /// The highest cost that a file is granted when the caller knows its origin.
    package let ceiling: DerivationCost

    package init(
        own: DerivationCost, floor: DerivationCost, granted: DerivationCost, ceiling: DerivationCost
    ) {
        self.own = own
        self.floor = floor
        self.granted = granted
        self.ceiling = ceiling
    }

    /// Returns why a file that demands `cost` is refused before anything is derived; `nil` when it is not.
    func refusal(_ cost: DerivationCost, lanes: Int) -> OpenDiagnosis? {
        guard lanes == 1, floor.isWithin(cost), cost.isWithin(ceiling) else { return .impossibleCost }
        return cost.isWithin(granted) || cost.isWithin(own) ? nil : .expensive(cost)
    }
}
