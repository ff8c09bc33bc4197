/// The cost of deriving a key from a passphrase with Argon2id and one lane.
package struct DerivationCost: Sendable, Equatable {
    package let memoryKiB: Int
    package let passes: Int

    package init(memoryKiB: Int, passes: Int) {
        self.memoryKiB = memoryKiB
        self.passes = passes
    }

    /// Reports whether neither the memory nor the number of passes exceeds that of `other`.
    package func isWithin(_ other: DerivationCost) -> Bool {
        memoryKiB <= other.memoryKiB && passes <= other.passes
    }
}

/// The derivation cost of a new database, and the bounds for the cost that a file demands before anything in
/// the file can be authenticated.
package struct DerivationCosts: Sendable {
    /// The cost of a new database.
    package let own: DerivationCost
    /// The lowest cost that is accepted from a file.
    package let floor: DerivationCost
    /// The highest cost that is accepted from any file, unless ``own`` is higher.
    package let granted: DerivationCost
    /// The highest cost that is ever accepted from a file.
    package let ceiling: DerivationCost

    package init(
        own: DerivationCost, floor: DerivationCost, granted: DerivationCost, ceiling: DerivationCost
    ) {
        self.own = own
        self.floor = floor
        self.granted = granted
        self.ceiling = ceiling
    }

    /// Returns the reason to refuse a file that demands `cost`; `nil` to accept the file. The caller must
    /// check a file's cost before it derives any key.
    func refusal(_ cost: DerivationCost, lanes: Int) -> OpenDiagnosis? {
        guard lanes == 1, floor.isWithin(cost), cost.isWithin(ceiling) else { return .impossibleCost }
        return cost.isWithin(granted) || cost.isWithin(own) ? nil : .expensive(cost)
    }
}
