public import CofferBase

extension Session {
    /// Erases the vault at `location` without opening it: also one whose files are damaged.
    ///
    /// - Parameters:
    ///   - scope: What of it is erased.
    ///   - location: The home's directory.
    ///   - reason: What the receipt says.
    ///   - time: The clocks to go by.
    /// - Returns: What was removed.
    /// - Throws: `notInitialised`, `wiped`; otherwise as ``wipe(_:reason:)``.
    public static func wipe(
        _ scope: WipeScope = .all, at location: HomeLocation, reason: String = "asked for",
        time: TimeSource = .system
    ) async throws(CofferError) -> WipeReceipt {
        try await BlockingWork.run { _ throws(CofferError) in
            try Wiper.finishInterrupted(at: location, time: time)
            let home = try Home.openDirectory(location)
            _ = try home.openVault()
            return try Wiper(home: home, time: time).wipe(scope, reason: reason, by: nil)
        }
    }

    /// Erases this vault, or a part of it: see ``WipeReceipt``. Works while locked and cannot be undone.
    ///
    /// - Parameters:
    ///   - scope: What of it is erased.
    ///   - reason: What the receipt says.
    /// - Returns: What was removed.
    /// - Throws: `busy` when another process holds the home for long; for a user's namespace `notInitialised`
    ///   and `wiped`, as that is; otherwise what hinders it. After any error, opening the home means
    ///   finishing the wipe, unless the error came before anything was touched.
    public func wipe(
        _ scope: WipeScope = .all, reason: String = "asked for"
    ) async throws(CofferError) -> WipeReceipt {
        let core = core
        return try await BlockingWork.run { _ throws(CofferError) in
            try Wiper(home: core.home, time: core.time).wipe(scope, reason: reason, by: core)
        }
    }
}
