import CofferBase

/// The rounds of key derivation that one file may cost. They are counted before they are computed.
struct KeyFileBudget {
    /// The maximum number of rounds for one file, about ten seconds of work.
    static let rounds = 10_000_000

    private var left = Self.rounds

    /// Takes rounds from what is left.
    ///
    /// - Throws: `refused` if not so many are left.
    mutating func spend(_ rounds: Int, times: Int = 1) throws(CofferError) {
        guard times > 0, rounds <= left / times else {
            throw CofferError(
                .refused,
                "The file demands more than 10 million rounds to derive its keys. Nothing was computed for "
                    + "this part. Export the key again with fewer rounds.")
        }
        left -= rounds * times
    }
}
