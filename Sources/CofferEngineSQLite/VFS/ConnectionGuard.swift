import CofferBase
import CSQLite

/// Denies a connection everything that would leave the encryption: attaching a database through another VFS,
/// and extensions. Once its key was revoked, also denies the data that the connection has in memory.
///
/// GRDB has an authorizer of its own; SQLite keeps only one and does not report which. So the offset at which
/// a connection keeps it is found with a connection opened for the purpose, and ours calls GRDB's.
@safe final class ConnectionGuard {
    private var handle: UnsafeMutablePointer<OpaquePointer?>?
    private var previous: Previous?
    /// Set once a statement was compiled that attaches by a bound name.
    private var watch: AttachWatch?
    /// The key of the connection's own database.
    private let entry: KeyEntry

    init(entry: KeyEntry) { self.entry = entry }

    typealias Function =
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
            UnsafePointer<CChar>?, UnsafePointer<CChar>?
        ) -> Int32

    /// The number of operations of SQLite's virtual machine between two checks of the key. A row with a value
    /// takes at least three, so none is returned without a check.
    private static let operationsPerCheck: Int32 = 3

    /// The previous callback and its argument.
    @safe private struct Previous {
        let function: Function?
        let argument: UnsafeMutableRawPointer?
    }

    /// Records the connection's address, as SQLite reports it.
    func remember(_ argument: UnsafeMutableRawPointer?) {
        unsafe handle = unsafe argument?.assumingMemoryBound(to: OpaquePointer?.self)
    }

    private static let authorizer: Function = { context, action, first, second, third, fourth in
        guard let context = unsafe context else { return SQLITE_DENY }
        let own = unsafe Unmanaged<ConnectionGuard>.fromOpaque(context).takeUnretainedValue()
        return unsafe own.authorize(action, first, second, third, fourth)
    }

    /// Installs the authorizer before the connection's own; once. The file of an attached database leaves the
    /// guard to that of the connection's own file, which remains when the attached file is closed.
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
        unsafe sqlite3_progress_handler(connection, Self.operationsPerCheck, Self.progress, own)
        return unsafe sqlite3_set_authorizer(connection, Self.authorizer, own) == SQLITE_OK
    }

    private static let progress: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { context in
        guard let context = unsafe context else { return 1 }
        return unsafe Unmanaged<ConnectionGuard>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.entry.isRevoked && $0.interrupts ? 1 : 0
        }
    }

    /// Reports whether a statement that runs without its key reads or writes. A statement that ends a
    /// transaction has finished doing so by then. While a statement is compiled, for which SQLite 3.41 and
    /// later calls this too, the authorizer decides.
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
        // SQLite opens an expected copy before it asks for anything else.
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

    /// Reports whether a database of this name may be attached. The copy of a `VACUUM INTO` gets the key of
    /// its source.
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

    /// Makes the connection read the first page that another connection has just created.
    func beginAgain() {
        guard let connection = unsafe handle?.pointee else { return }
        unsafe sqlite3_exec(connection, "PRAGMA schema_version", nil, nil, nil)
    }

    /// A name that is not a literal is known only when the statement begins, not when it is compiled.
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
