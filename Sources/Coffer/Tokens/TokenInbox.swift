import CofferBase
import CofferEngine
import SystemPackage

/// Tokens that wait for an unlock: the directory `inbox` of the vault, there only while something is in it.
///
/// Each is a file of its own, so that damage to one is no other's. The file's name says its number, which is
/// the order of storing, and its class: `0000000000000007-1`. One that is damaged gets the prefix `damaged-`
/// and stays until somebody discards it. Changes are made under the home's lock.
struct TokenInbox {
    static let directoryName: FilePath = "inbox"
    private static let directoryPath = Home.vaultName.appending(directoryName.string)
    private static let damagedPrefix = "damaged-"
    /// The most that may wait.
    static let mostEntries = 256
    /// The most bytes that may wait.
    static let mostBytes = 16 << 20
    /// More than the longest token and its metadata take.
    private static let longestEntry = (1 << 20) + (1 << 18)

    let home: Home
    let device: DeviceRecord

    /// A file of the inbox.
    struct Entry {
        let name: FilePath
        let number: UInt64
        let rawClass: UInt16
        let isDamaged: Bool

        init?(_ name: FilePath) {
            var text = name.string.utf8[...]
            isDamaged = name.string.utf8.hasPrefix(damagedPrefix)
            if isDamaged { text = text.dropFirst(damagedPrefix.utf8.count) }
            let parts = Substring(text).parts(between: "-", keepsEmpty: true)
            guard parts.count == 2, parts[0].utf8.count == 16, let number = UInt64(parts[0], radix: 16),
                let rawClass = UInt16(parts[1])
            else { return nil }
            self.name = name
            self.number = number
            self.rawClass = rawClass
        }

        static func name(_ number: UInt64, _ protection: ProtectionClass) -> FilePath {
            let digits = String(number, radix: 16)
            return FilePath(
                String(repeating: "0", count: 16 - digits.count) + digits + "-\(protection.rawValue)")
        }
    }

    /// What is there, in the order of storing; damaged ones too.
    func entries() throws(CofferError) -> [Entry] {
        guard let directory = try open() else { return [] }
        return try directory.names().compactMap(Entry.init).sorted { $0.number < $1.number }
    }

    /// Whether there may be anything.
    func exists() throws(CofferError) -> Bool {
        try home.directory.status(of: Self.directoryPath) != nil
    }

    /// Without a look at the vault's state: whoever finds something looks again under the lock.
    private func open() throws(CofferError) -> Descriptor? {
        do throws(CofferError) {
            guard try exists() else { return nil }
            return try home.directory.open(Self.directoryPath, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            return nil
        }
    }

    /// Adds what `seal` makes for the next number.
    func add(
        in vault: borrowing Descriptor, _ seal: (_ number: UInt64) throws(CofferError) -> PendingToken
    ) throws(CofferError) {
        if try vault.status(of: Self.directoryName) == nil {
            try vault.makeDirectory(Self.directoryName)
            try vault.sync()
        }
        let directory = try vault.open(Self.directoryName, [.read, .directory])
        try directory.removeTemporaries()
        let entries = try entries()
        let pending = try seal((entries.last?.number ?? 0) + 1)
        let bytes = try pending.encoded(device: device)
        var total = Int64(bytes.count)
        for entry in entries { total += try directory.status(of: entry.name)?.size ?? 0 }
        guard entries.count < Self.mostEntries, total <= Int64(Self.mostBytes) else {
            throw CofferError(
                .noSpace,
                "Too much waits already for an unlock: at most \(Self.mostEntries) tokens of "
                    + "\(Self.mostBytes >> 20) MiB together.")
        }
        try directory.replace(Entry.name(pending.number, pending.protection), with: bytes.span)
    }

    /// Reads one; `nil` when it is damaged, which its name then says.
    func read(_ entry: Entry, in vault: borrowing Descriptor) throws(CofferError) -> PendingToken? {
        let directory = try vault.open(Self.directoryName, [.read, .directory])
        do throws(CofferError) {
            let bytes = try directory.open(entry.name, .read).readAll(limit: Self.longestEntry)
            let pending = try PendingToken.decode(bytes, device: device)
            guard pending.number == entry.number, pending.protection.rawValue == entry.rawClass else {
                throw CofferError(.corrupt, "A waiting token has another's name.")
            }
            return pending
        } catch {
            guard error.code == .corrupt else { throw error }
            try markDamaged(entry, in: vault)
            return nil
        }
    }

    func markDamaged(_ entry: Entry, in vault: borrowing Descriptor) throws(CofferError) {
        let directory = try vault.open(Self.directoryName, [.read, .directory])
        try directory.rename(entry.name, to: FilePath(Self.damagedPrefix + entry.name.string))
        try directory.sync()
    }

    /// Removes entries, and with the last one the inbox.
    func remove(_ entries: [Entry], in vault: borrowing Descriptor) throws(CofferError) {
        guard !entries.isEmpty else { return }
        let directory = try vault.open(Self.directoryName, [.read, .directory])
        for entry in entries { try directory.remove(entry.name) }
        try directory.sync()
        guard try self.entries().isEmpty else { return }
        try directory.removeTemporaries()
        guard try directory.names().isEmpty else { return }
        try vault.removeDirectory(Self.directoryName)
        try vault.sync()
    }
}
