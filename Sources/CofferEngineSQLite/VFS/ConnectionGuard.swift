import CofferBase
import CPageCache
import CSQLite

/// A guard that denies a connection everything that would bypass the encryption: attaching a database through
/// another VFS, and loading extensions. After the connection's key is revoked, the guard also denies access
/// to the connection's in-memory data.
///
/// SQLite keeps only one authorizer for a connection and does not report it, and GRDB installs its own.
/// Therefore ``ConnectionMemory`` finds the offset at which a connection stores its authorizer, and the
/// authorizer of this class calls the one that it replaced.
@safe final class ConnectionGuard {
    private var handle: UnsafeMutablePointer<OpaquePointer?>?
    private var previous: Previous?
    /// The watch that is set once the connection has compiled a statement that attaches a database by a bound
    /// name.
    private var watch: AttachWatch?
    /// The key of the connection's own database.
    private let entry: KeyEntry
    /// SQLite reads this between the operations of a statement.
    private let check = UnsafeMutablePointer<coffer_page_owner_check>.allocate(capacity: 1)

    init(entry: KeyEntry) { self.entry = entry }

    deinit { unsafe check.deallocate() }

    typealias Function =
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
            UnsafePointer<CChar>?, UnsafePointer<CChar>?
        ) -> Int32

    /// The number of SQLite virtual-machine operations between two checks of the key. A row with a value
    /// takes at least three operations, so SQLite returns no row without a check.
    private static let operationsPerCheck: Int32 = 3

    /// The authorizer that this guard replaced, and its argument.
    @safe private struct Previous {
        let function: Function?
        let argument: UnsafeMutableRawPointer?
    }

    /// Records where SQLite stores the connection's address.
    func remember(_ argument: UnsafeMutableRawPointer?) {
        unsafe handle = unsafe argument?.assumingMemoryBound(to: OpaquePointer?.self)
    }

    private static let authorizer: Function = { context, action, first, second, third, fourth in
        guard let context = unsafe context else { return SQLITE_DENY }
        let own = unsafe Unmanaged<ConnectionGuard>.fromOpaque(context).takeUnretainedValue()
        return unsafe own.authorize(action, first, second, third, fourth)
    }

    /// Installs the authorizer in front of the one that the connection has, unless a guard is already
    /// installed. If an attached database's file calls this function, the guard of the connection's own
    /// file stays in place, because it remains when the attached file is closed. Returns whether a guard is
    /// installed.
    func install() -> Bool {
        guard let connection = unsafe handle?.pointee, let offset = ConnectionMemory.authorizer else {
            return false
        }
        let present = unsafe ConnectionMemory.callback(of: connection, at: offset)
        let authorizer = unsafe unsafeBitCast(Self.authorizer, to: UInt.self)
        guard present.function != authorizer else { return true }
        previous = unsafe Previous(
            function: present.function == 0 ? nil : unsafeBitCast(present.function, to: Function.self),
            argument: present.argument)
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe entry.cachedPages.watch(
            connection, every: Self.operationsPerCheck, check, context: own, Self.interrupts)
        return unsafe sqlite3_set_authorizer(connection, Self.authorizer, own) == SQLITE_OK
    }

    private static let interrupts: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { context in
        guard let context = unsafe context else { return 1 }
        return unsafe Unmanaged<ConnectionGuard>.fromOpaque(context).takeUnretainedValue().interrupts ? 1 : 0
    }

    /// Reports whether a statement is reading or writing and must be interrupted because the key was revoked.
    /// A statement that ends a transaction is neither reading nor writing by then. SQLite 3.41 and later also
    /// call the progress handler while they compile a statement; then the authorizer decides instead.
    private var interrupts: Bool {
        guard let connection = unsafe handle?.pointee,
            unsafe sqlite3_txn_state(connection, nil) != SQLITE_TXN_NONE
        else { return false }
        return unsafe RevokedConnection.noteRunning(on: connection)
    }

    private func authorize(
        _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?,
        _ third: UnsafePointer<CChar>?, _ fourth: UnsafePointer<CChar>?
    ) -> Int32 {
        // SQLite opens the copy of a `VACUUM INTO` before it asks the authorizer for anything else.
        VacuumTarget.drop()
        if entry.isRevoked, let connection = unsafe handle?.pointee,
            unsafe !RevokedConnection.allows(action, first, third, on: connection)
        {
            return RevokedConnection.refusal
        }
        let isAllowed =
            switch action {
            case SQLITE_ATTACH: unsafe allowsAttaching(first)
            case SQLITE_FUNCTION:
                unsafe second.map { unsafe String(cString: $0).foldedASCII } != "load_extension"
            default: true
            }
        guard isAllowed else { return SQLITE_DENY }
        guard let previous, let function = unsafe previous.function else { return SQLITE_OK }
        return unsafe function(previous.argument, action, first, second, third, fourth)
    }

    /// Reports whether a database with this name may be attached. If a `VACUUM INTO` is about to create a
    /// copy with this name, registers the copy as a ``VacuumTarget``.
    private func allows(_ name: [UInt8]) -> Bool {
        guard AttachRule.allows(name) else { return false }
        var (path, token) = (name, [UInt8]?.none)
        switch DatabaseURI.read(name) {
        case .path: break
        case .refused: return false
        case .uri(let uri):
            guard !uri.values(of: "mode").contains(Array("memory".utf8)) else { return true }
            (path, token) = (uri.path, uri.values(of: DatabaseKeyHandle.tokenParameter).first)
        }
        guard !path.isEmpty, path != Array(":memory:".utf8), let connection = unsafe handle?.pointee,
            let methods = unsafe EncryptedVFS.registered?.methods,
            let source = unsafe VacuumTarget.source(of: connection, methods),
            let full = EncryptedVFS.fullPath(path)
        else { return true }
        VacuumTarget.expect(
            full, VacuumTarget(entry: source.entry, identity: source.codec.identity, token: token))
        return true
    }

    /// Makes the connection read the first page, which another connection has just created.
    func beginAgain() {
        guard let connection = unsafe handle?.pointee else { return }
        unsafe sqlite3_exec(connection, "PRAGMA schema_version", nil, nil, nil)
    }

    /// Reports whether a statement that attaches a database may be compiled. A name that is not a literal is
    /// known only when the statement begins, so ``AttachWatch`` checks it then.
    private func allowsAttaching(_ name: UnsafePointer<CChar>?) -> Bool {
        if let name = unsafe name {
            guard unsafe allows(CText.bytes(name)) else { return false }
            watch?.open()
            return true
        }
        guard let connection = unsafe handle?.pointee else { return false }
        let watch = unsafe watch ?? AttachWatch(connection)
        self.watch = watch
        return watch.install()
    }
}
