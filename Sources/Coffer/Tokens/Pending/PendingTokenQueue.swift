import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

/// The queue of tokens that are pending until an unlock: the vault's `inbox` directory, which exists only
/// while it has entries.
///
/// Each token has its own file, so that damage to one does not affect the others. The file's name consists of
/// the token's number, which reflects the order in which tokens were stored, and its class:
/// `0000000000000007-1`. A damaged entry gets the prefix `damaged-` and stays until the caller discards it.
/// An entry that would replace a stored value but lacks proof that it continues that value gets the prefix
/// `unconfirmed-` and stays until the caller accepts or rejects it. Any change to the queue requires the
/// vault directory's lock.
struct PendingTokenQueue {
    static let directoryName: FilePath = "inbox"
    private static let directoryPath = VaultDirectory.vaultName.appending(directoryName.string)
    /// The maximum number of pending tokens.
    static let maxEntryCount = 256
    /// The maximum total size of pending tokens, in bytes.
    static let maxByteCount = 16 << 20
    /// The maximum size of an entry's file, in bytes: larger than the longest token with its metadata.
    private static let maxEntryLength = (1 << 20) + (1 << 18)

    let home: VaultDirectory
    let device: DeviceKey

    /// An entry's state. The raw value is the prefix of the entry's file name.
    enum State: String, CaseIterable {
        case pending = ""
        case unconfirmed = "unconfirmed-"
        case damaged = "damaged-"
    }

    /// A file in the queue.
    struct Entry {
        let name: FilePath
        let number: UInt64
        let rawClass: UInt16
        let state: State

        /// Creates an entry from a file name; returns `nil` if the file name is not exactly the one that
        /// ``name(_:_:_:)`` returns for the entry.
        init?(_ name: FilePath) {
            let bytes = Array(name.string.utf8)
            let state = State.allCases.last { bytes.starts(with: $0.rawValue.utf8) } ?? .pending
            let parts = bytes.dropFirst(state.rawValue.utf8.count).split(
                separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].count == 16,
                let number = UInt64(String(decoding: parts[0], as: UTF8.self), radix: 16),
                let rawClass = UInt16(String(decoding: parts[1], as: UTF8.self))
            else { return nil }
            guard Self.name(number, rawClass, state).string.utf8.elementsEqual(bytes) else { return nil }
            self.name = name
            self.number = number
            self.rawClass = rawClass
            self.state = state
        }

        static func name(_ number: UInt64, _ rawClass: UInt16, _ state: State) -> FilePath {
            let digits = String(number, radix: 16)
            return FilePath(
                state.rawValue + String(repeating: "0", count: 16 - digits.count) + digits + "-\(rawClass)")
        }
    }

    /// A file that was added to the queue.
    struct Added: Sendable {
        let name: FilePath
        let status: FileStatus
        let fingerprint: String
    }

    /// Returns the entries, including damaged ones, in the order in which they were stored.
    func entries() throws(CofferError) -> [Entry] {
        guard let directory = try open() else { return [] }
        return try directory.names().compactMap(Entry.init).sorted { $0.number < $1.number }
    }

    /// Returns the number of damaged entries, plus one if something other than a directory occupies the
    /// queue's path.
    func damaged(among entries: [Entry]) throws(CofferError) -> Int {
        try entries.count { $0.state == .damaged } + (isMisplaced() ? 1 : 0)
    }

    /// Returns whether the queue's path exists.
    func exists() throws(CofferError) -> Bool {
        try home.directory.status(of: Self.directoryPath) != nil
    }

    /// Returns whether the queue's path exists but is not a directory, and therefore contains no pending
    /// tokens.
    func isMisplaced() throws(CofferError) -> Bool {
        try home.directory.status(of: Self.directoryPath).map { $0.kind != .directory } ?? false
    }

    /// Opens the directory without checking the vault's state; a caller that finds entries must check the
    /// state again under the lock.
    private func open() throws(CofferError) -> Descriptor? {
        do throws(CofferError) {
            guard try exists(), try !isMisplaced() else { return nil }
            return try home.directory.open(Self.directoryPath, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            return nil
        }
    }

    /// Adds a token, which `seal` creates with the next number, to the queue.
    @discardableResult
    func add(
        in vault: borrowing Descriptor, _ seal: (_ number: UInt64) throws(CofferError) -> PendingToken
    ) throws(CofferError) -> Added {
        guard try !isMisplaced() else {
            throw CofferError(
                .corrupt, "Pending tokens cannot be stored because vault/inbox is not a directory.",
                remedy: .purgeCorruptTokens)
        }
        if try vault.status(of: Self.directoryName) == nil {
            try vault.makeDirectory(Self.directoryName)
            try vault.sync()
        }
        let directory = try vault.open(Self.directoryName, [.read, .directory])
        try directory.removeTemporaries()
        let entries = try entries()
        // Anyone who can write to the vault directory can choose the names, and so any number.
        let (number, isOver) = (entries.last?.number ?? 0).addingReportingOverflow(1)
        guard !isOver else {
            throw CofferError(
                .corrupt, "A file in the vault's inbox directory has an invalid number. Remove the file."
            )
        }
        let pending = try seal(number)
        let bytes = try pending.encoded(device: device)
        var total = Int64(bytes.count)
        for entry in entries { total += try directory.status(of: entry.name)?.size ?? 0 }
        guard entries.count < Self.maxEntryCount, total <= Int64(Self.maxByteCount) else {
            throw CofferError(
                .noSpace,
                "Too many tokens are pending: the limit is \(Self.maxEntryCount) tokens and "
                    + "\(Self.maxByteCount >> 20) MiB in total. Unlock the vault, then accept or reject "
                    + "pending tokens.")
        }
        let name = Entry.name(pending.number, pending.protection.rawValue, .pending)
        try directory.replace(name, with: bytes.span)
        guard let status = try directory.status(of: name) else {
            throw CofferError(
                .inputOutput, "A pending token disappeared while it was being stored. Store the token again.")
        }
        return Added(name: name, status: status, fingerprint: PendingToken.fingerprint(of: bytes))
    }

    /// Returns whether an added entry is still pending and unchanged.
    func isPending(_ added: Added) throws(CofferError) -> Bool {
        guard let directory = try open() else { return false }
        return try directory.status(of: added.name) == added.status
    }

    /// Reads an entry. If the entry is damaged or not a readable file, marks it as damaged in its file name
    /// and returns `nil`. Also returns `nil` if a newer release stored the entry, so such an entry does not
    /// block the others.
    func read(_ entry: Entry, in vault: borrowing Descriptor) throws(CofferError) -> PendingToken? {
        let directory = try vault.open(Self.directoryName, [.read, .directory])
        do throws(CofferError) {
            let bytes = try bytes(of: entry, directory)
            let pending = try PendingToken.decode(bytes, device: device)
            guard pending.number == entry.number, pending.protection.rawValue == entry.rawClass else {
                throw CofferError(.corrupt, "A pending token has another token's file name.")
            }
            return pending
        } catch {
            switch error.code {
            case .unsupportedVersion: return nil
            case .corrupt, .permissionDenied:
                // Skip the entry even if its name cannot be changed.
                try? mark(entry, .damaged, in: vault)
                return nil
            default: throw error
            }
        }
    }

    /// Returns the token of an entry that is marked as damaged, if it is authentic after all. Changes
    /// nothing.
    func damagedToken(_ entry: Entry, in vault: borrowing Descriptor) -> PendingToken? {
        guard let directory = try? vault.open(Self.directoryName, [.read, .directory]),
            let bytes = try? bytes(of: entry, directory),
            let pending = try? PendingToken.decode(bytes, device: device), pending.number == entry.number,
            pending.protection.rawValue == entry.rawClass
        else { return nil }
        return pending
    }

    /// Reads an entry's bytes, even if its file mode denies its owner read access.
    private func bytes(
        of entry: Entry, _ directory: borrowing Descriptor
    ) throws(CofferError) -> [UInt8] {
        guard try directory.status(of: entry.name)?.kind == .regular else {
            throw CofferError(.corrupt, "A pending token is not a regular file.")
        }
        do throws(CofferError) {
            return try directory.open(entry.name, .read).readAll(limit: Self.maxEntryLength)
        } catch {
            guard error.code == .permissionDenied, directory.permitOwner(entry.name, 0o600) else {
                throw error
            }
            return try directory.open(entry.name, .read).readAll(limit: Self.maxEntryLength)
        }
    }

    /// Replaces the content of an entry's file.
    func replace(
        _ entry: Entry, with pending: PendingToken, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let directory = try vault.open(Self.directoryName, [.read, .directory])
        let bytes = try pending.encoded(device: device)
        try directory.removeTemporaries()
        try directory.replace(entry.name, with: bytes.span)
    }

    /// Records an entry's state in its file name.
    func mark(_ entry: Entry, _ state: State, in vault: borrowing Descriptor) throws(CofferError) {
        let directory = try vault.open(Self.directoryName, [.read, .directory])
        try directory.rename(entry.name, to: Entry.name(entry.number, entry.rawClass, state))
        try directory.sync()
    }

    /// Removes entries, and also removes the directory with the last entry.
    func remove(_ entries: [Entry], in vault: borrowing Descriptor) throws(CofferError) {
        guard !entries.isEmpty else { return }
        let directory = try vault.open(Self.directoryName, [.read, .directory])
        // A damaged entry may be something other than a file.
        for entry in entries { try directory.removeTree(entry.name) }
        try directory.sync()
        guard try self.entries().isEmpty else { return }
        try directory.removeTemporaries()
        guard try directory.names().isEmpty else { return }
        try vault.removeDirectory(Self.directoryName)
        try vault.sync()
    }
}
