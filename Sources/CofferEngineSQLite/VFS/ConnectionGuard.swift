import CofferBase
import CSQLite

/// Denies a connection what would lead out of the encryption: attaching a database through another VFS, and
/// extensions; and once its key was taken back, what it has in memory.
///
/// GRDB has an authorizer of its own, and SQLite keeps one only and does not tell which. So the place where a
/// connection keeps it is learnt from a connection made for the purpose, and GRDB's is called after ours.
@safe final class ConnectionGuard {
    private var handle: UnsafeMutablePointer<OpaquePointer?>?
    private var previous: Previous?
    /// Once a statement was compiled that attaches by a bound name.
    private var watch: AttachWatch?
    /// The key of the connection's own database.
    private let entry: KeyEntry

    init(entry: KeyEntry) { self.entry = entry }

    typealias Function =
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
            UnsafePointer<CChar>?, UnsafePointer<CChar>?
        ) -> Int32

    /// How many operations of SQLite's virtual machine pass between two checks of the key. A row with a value
    /// takes at least three, so none is returned without a check.
    private static let operationsPerCheck: Int32 = 3

    /// What was there before, and what it is called with.
    @safe private struct Previous {
        let function: Function?
        let argument: UnsafeMutableRawPointer?
    }

    /// Keeps where SQLite says that its connection is.
    func remember(_ argument: UnsafeMutableRawPointer?) {
        unsafe handle = unsafe argument?.assumingMemoryBound(to: OpaquePointer?.self)
    }

    private static let authorizer: Function = { context, action, first, second, third, fourth in
        guard let context = unsafe context else { return SQLITE_DENY }
        let own = unsafe Unmanaged<ConnectionGuard>.fromOpaque(context).takeUnretainedValue()
        return unsafe own.authorize(action, first, second, third, fourth)
    }

    /// Goes before the authorizer that the connection has; once. The file of an attached database leaves the
    /// guard to the connection's own, which stays when that file is closed.
    func install() -> Bool {
        guard let connection = unsafe handle?.pointee, let place = ConnectionMemory.authorizer else {
            return false
        }
        let present = unsafe ConnectionMemory.callback(of: connection, at: place)
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

    /// Whether a statement that runs without its key reads or writes. One that ends a transaction has done so
    /// by then. While a statement is compiled, which SQLite 3.41 and later asks about, too, the authorizer
    /// decides.
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
        // A copy that is expected is opened before SQLite asks for anything else.
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

    /// Whether a database of this name may be attached. The copy of a `VACUUM INTO` gets the key of its
    /// source.
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

    /// Has the connection read the first page that another one has just made.
    func beginAgain() {
        guard let connection = unsafe handle?.pointee else { return }
        unsafe sqlite3_exec(connection, "PRAGMA schema_version", nil, nil, nil)
    }

    /// A name that is no literal is not known when the statement is compiled, but when it begins.
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
