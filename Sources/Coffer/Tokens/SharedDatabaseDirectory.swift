import CofferBase
import CofferEngine
import SystemPackage

/// The directory of one session-only database whose session is in the kernel keyring, where this user's other
/// processes find it.
///
/// The directory's name contains the session's identifier and a random number, from which the database's key
/// is derived. So each database has a key of its own, even if it follows another one of the same name, and
/// the files of an ended session are recognised without any key.
struct SharedDatabaseDirectory: Sendable {
    private static let prefix = "session-"
    private static let partSize = 16

    /// The identifier of the session.
    let session: [UInt8]
    /// The number that tells the database from the others of its session.
    let number: [UInt8]

    /// Creates the name of a new database's directory.
    init(session: [UInt8]) throws(CofferError) {
        self.session = session
        number = try SecureRandom.bytes(Self.partSize)
    }

    private init?(_ name: FilePath) {
        let text = name.string
        guard text.utf8.hasPrefix(Self.prefix) else { return nil }
        let digits = String(decoding: text.utf8.dropFirst(Self.prefix.utf8.count), as: UTF8.self)
        guard let parts = HexText.decode(digits, lowerCaseOnly: true), parts.count == 2 * Self.partSize
        else { return nil }
        session = Array(parts[..<Self.partSize])
        number = Array(parts[Self.partSize...])
    }

    var name: FilePath { FilePath(Self.prefix + HexText.encode(session + number)) }

    /// Returns the directories in a vault, ended or not. Links and other users' directories are left out.
    static func all(in vault: borrowing Descriptor) throws(CofferError) -> [SharedDatabaseDirectory] {
        guard try vault.status(of: DatabaseKeyNaming.directory)?.kind == .directory else { return [] }
        let databases = try vault.open(DatabaseKeyNaming.directory, [.read, .directory])
        var found: [SharedDatabaseDirectory] = []
        for name in try databases.names() {
            guard let directory = SharedDatabaseDirectory(name),
                let status = try databases.status(of: name), status.kind == .directory, status.isOwn
            else { continue }
            found.append(directory)
        }
        return found
    }

    /// Returns the file name of the database; `nil` if the directory is gone, or if a crash left it empty.
    func file(in vault: borrowing Descriptor) throws(CofferError) -> String? {
        do throws(CofferError) {
            let databases = try vault.open(DatabaseKeyNaming.directory, [.read, .directory])
            return try databases.openUnlessMounted(name).names().map(\.string).first {
                DatabaseKeyNaming.parts(of: $0) != nil
            }
        } catch {
            guard error.code == .absent else { throw error }
            return nil
        }
    }

    /// Creates the directory with an empty database, which only their owner can access.
    func make(_ file: String, in vault: borrowing Descriptor) throws(CofferError) {
        let databases = try VolatileDatabaseDirectory.makeParent(in: vault)
        try databases.makeDirectory(name)
        do throws(CofferError) {
            _ = try databases.open(name, [.read, .directory]).open(FilePath(file), [.readWrite, .exclusive])
        } catch {
            remove(in: vault)
            throw error
        }
    }

    /// Removes the directory and everything in it. Ignores any failure, because the next opening of the vault
    /// tries again once the session has ended.
    func remove(in vault: borrowing Descriptor) {
        guard let databases = try? vault.open(DatabaseKeyNaming.directory, [.read, .directory]) else {
            return
        }
        VolatileDatabaseDirectory.removeAll(of: name, in: databases)
    }

    /// Removes the databases whose sessions have ended, and ignores any failure to do so. `current` returns
    /// the identifiers of the sessions in the kernel keyring. If it fails, nothing shows which sessions have
    /// ended, and nothing is removed.
    static func removeEnded(
        in vault: borrowing Descriptor, _ current: () throws(CofferError) -> Set<[UInt8]>
    ) {
        do throws(CofferError) {
            // First the directories: a session exists before its directories do.
            let found = try all(in: vault)
            guard !found.isEmpty else { return }
            let current = try current()
            for directory in found where !current.contains(directory.session) {
                directory.remove(in: vault)
            }
        } catch {
            // The next call tries again.
        }
    }
}
