import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferEnginePKCS11
import Synchronization

/// The vault's key pairs that may be used for TLS or for signatures, as a token of PKCS #11.
///
/// The vault is opened for each search and each signature, so that a lock, a wipe and a change by another
/// process apply at once. Between them, the process has no key.
final class VaultToken: TokenModule {
    private struct Session {
        /// The objects that a search found and the client has not fetched yet; `nil` without a search.
        var found: ArraySlice<UInt>?
        var signature: TokenSignature?
    }

    private struct State {
        var sessions: [UInt: Session] = [:]
        var lastSession: UInt = 0
        var numbers: [TokenObject.Identity: UInt] = [:]
        var objects: [UInt: TokenObject] = [:]
        var lastObject: UInt = 0
        var isLoggedIn = false
        var serial: String?
    }

    private static let uses: KeyPairUses = [.tlsClient, .sign]
    /// Longer than a person is given to confirm a use.
    private static let deadline = Duration.seconds(120)

    /// Opens the vault; with `true`, unlocks it without asking anyone, if that is possible.
    private let openVault: @Sendable (_ unlocking: Bool) async throws(CofferError) -> Vault
    private let confirm: @Sendable (KeyPair) -> Bool
    /// Receives the reason for each refusal, for which PKCS #11 has only a number.
    private let report: @Sendable (CofferError) -> Void
    private let state = Mutex(State())

    let label = "coffer"
    let mostSessions = 1024
    let mechanisms: [ModuleMechanism.Description] = [
        // CKF_EC_F_P, CKF_EC_NAMEDCURVE (CKF_EC_OID) and CKF_EC_UNCOMPRESS
        .init(ModuleMechanism.ecdsa, 256...384, curveFlags: 1 << 20 | 1 << 23 | 1 << 24),
        .init(ModuleMechanism.eddsa, 256...256, curveFlags: 1 << 20 | 1 << 23),
        .init(ModuleMechanism.rsaPKCS, 2048...4096), .init(ModuleMechanism.rsaPSS, 2048...4096),
    ]

    init(
        openVault: @escaping @Sendable (_ unlocking: Bool) async throws(CofferError) -> Vault,
        confirm: @escaping @Sendable (KeyPair) -> Bool, report: @escaping @Sendable (CofferError) -> Void
    ) {
        self.openVault = openVault
        self.confirm = confirm
        self.report = report
    }

    var version: (major: UInt8, minor: UInt8) {
        let numbers = PackageVersion.current.utf8.split(separator: UInt8(ascii: ".")).prefix(2).map {
            UInt8(String(decoding: $0, as: UTF8.self)) ?? 0
        }
        return (numbers.first ?? 0, numbers.count > 1 ? numbers[1] : 0)
    }

    /// The first half of the vault's id; empty without a vault.
    var serial: String {
        if let known = state.withLock({ $0.serial }) { return known }
        let open = openVault
        let id = try? Self.wait { () async throws(CofferError) -> String in
            guard let id = try await open(false).status().vaultID else { return "" }
            let digits = "\(id)".utf8.filter { $0 != UInt8(ascii: "-") }
            return String(decoding: digits.prefix(16), as: UTF8.self)
        }
        guard let id else { return "" }
        state.withLock { $0.serial = id }
        return id
    }

    /// Blocks the thread that serves the client until asynchronous work is done.
    private static func wait<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(CofferError) -> Value
    ) throws(CofferError) -> Value {
        let outcome = AwaitedResult<Result<Value, CofferError>>()
        Task(executorPreference: MainExecutor.current) {
            do throws(CofferError) {
                outcome.set(.success(try await work()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        guard let result = outcome.wait(deadline) else {
            throw CofferError(.timedOut, "The vault did not answer in time.")
        }
        return try result.get()
    }

    /// Reports an error, and returns its number in PKCS #11.
    private func failure(_ error: CofferError) -> ModuleFailure {
        report(error)
        // Of a client that logged in before the vault was locked, this is no longer true.
        if error.code == .locked { state.withLock { $0.isLoggedIn = false } }
        switch error.code {
        case .locked: return .userNotLoggedIn
        case .refused: return .functionRejected
        case .absent: return .keyHandleInvalid
        case .invalidInput: return .dataInvalid
        case .outOfMemory: return .deviceMemory
        case .wiped, .notInitialised: return .deviceRemoved
        default: return .functionFailed
        }
    }

    // MARK: Sessions

    var sessionCount: Int { state.withLock { $0.sessions.count } }
    var isLoggedIn: Bool { state.withLock { $0.isLoggedIn } }

    func openSession() throws(ModuleFailure) -> UInt {
        try state.withLock { (state) throws(ModuleFailure) -> UInt in
            guard state.sessions.count < mostSessions else { throw .sessionCount }
            state.lastSession += 1
            state.sessions[state.lastSession] = Session()
            return state.lastSession
        }
    }

    func closeSession(_ session: UInt) throws(ModuleFailure) {
        try state.withLock { (state) throws(ModuleFailure) in
            guard state.sessions.removeValue(forKey: session) != nil else { throw .sessionHandleInvalid }
            if state.sessions.isEmpty { state.isLoggedIn = false }
        }
    }

    func closeAllSessions() {
        state.withLock {
            $0.sessions = [:]
            $0.isLoggedIn = false
        }
    }

    func checkSession(_ session: UInt) throws(ModuleFailure) {
        try change(session) { (_) throws(ModuleFailure) -> Void in }
    }

    private func change<Value: Sendable>(
        _ number: UInt, _ body: (inout Session) throws(ModuleFailure) -> Value
    ) throws(ModuleFailure) -> Value {
        try state.withLock { (state) throws(ModuleFailure) -> Value in
            guard var session = state.sessions[number] else { throw .sessionHandleInvalid }
            let value = try body(&session)
            state.sessions[number] = session
            return value
        }
    }

    /// Notes that a client logged in, if the vault is unlocked, or if a key pair is in a class that outlasts
    /// a lock and the vault has keys of such classes. Each signature asks the vault all the same, but some
    /// clients log in before they sign, and do not sign without it.
    func logIn(_ session: UInt) throws(ModuleFailure) {
        guard !isLoggedIn else { throw .userAlreadyLoggedIn }
        let open = openVault
        do throws(CofferError) {
            let canSign = try Self.wait { () async throws(CofferError) -> Bool in
                let vault = try await open(true)
                guard !vault.isUnlocked else { return true }
                return try await Self.pairs(of: vault).contains { !$0.protection.isEvictedOnLock }
            }
            guard canSign else {
                throw CofferError(.locked, "The vault is locked.", remedy: .unlockVault)
            }
        } catch {
            throw failure(error)
        }
        state.withLock { $0.isLoggedIn = true }
    }

    func logOut(_ session: UInt) throws(ModuleFailure) {
        try checkSession(session)
        try state.withLock { (state) throws(ModuleFailure) in
            guard state.isLoggedIn else { throw .userNotLoggedIn }
            state.isLoggedIn = false
        }
    }

    // MARK: Objects

    func beginSearch(_ template: [ModuleAttribute], in session: UInt) throws(ModuleFailure) {
        let isActive = try change(session) { (session) throws(ModuleFailure) -> Bool in session.found != nil }
        guard !isActive else { throw .operationActive }
        try readObjects()
        let found = state.withLock { state in
            state.objects.filter { $0.value.matches(template) }.keys.sorted()
        }
        try change(session) { (session) throws(ModuleFailure) in session.found = found[...] }
    }

    /// Returns the key pairs of a vault that the token has.
    private static func pairs(of vault: Vault) async throws(CofferError) -> [KeyPair] {
        try await vault.keyPairs.list().filter { !$0.uses.isDisjoint(with: uses) }
    }

    /// Replaces the objects by those of the vault's key pairs now. Objects that are still there keep their
    /// numbers.
    private func readObjects() throws(ModuleFailure) {
        let open = openVault
        let pairs: [KeyPair]
        do throws(CofferError) {
            pairs = try Self.wait { () async throws(CofferError) in try await Self.pairs(of: open(false)) }
        } catch {
            // A client also searches the tokens of people who have no vault.
            guard error.code == .notInitialised else { throw failure(error) }
            pairs = []
        }
        let all = pairs.flatMap(TokenObject.all)
        state.withLock { state in
            var (numbers, objects) = ([TokenObject.Identity: UInt](), [UInt: TokenObject]())
            for object in all {
                var number = state.numbers[object.identity] ?? 0
                if number == 0 {
                    state.lastObject += 1
                    number = state.lastObject
                }
                numbers[object.identity] = number
                objects[number] = object
            }
            (state.numbers, state.objects) = (numbers, objects)
        }
    }

    func search(_ count: Int, in session: UInt) throws(ModuleFailure) -> [UInt] {
        try change(session) { (session) throws(ModuleFailure) -> [UInt] in
            guard let found = session.found else { throw .operationNotInitialized }
            session.found = found.dropFirst(count)
            return Array(found.prefix(count))
        }
    }

    func endSearch(in session: UInt) throws(ModuleFailure) {
        try change(session) { (session) throws(ModuleFailure) in
            guard session.found != nil else { throw .operationNotInitialized }
            session.found = nil
        }
    }

    func attribute(_ type: UInt, of object: UInt, in session: UInt) throws(ModuleFailure) -> [UInt8] {
        guard let known = state.withLock({ $0.objects[object] }) else { throw .objectHandleInvalid }
        return try known.value(type)
    }

    // MARK: Signing

    func beginSignature(_ mechanism: ModuleMechanism, key: UInt, in session: UInt) throws(ModuleFailure) {
        guard let object = state.withLock({ $0.objects[key] }) else { throw .keyHandleInvalid }
        try change(session) { (session) throws(ModuleFailure) in
            guard session.signature == nil else { throw .operationActive }
            session.signature = try TokenSignature(mechanism, object)
        }
    }

    func signatureSize(in session: UInt) throws(ModuleFailure) -> Int {
        try change(session) { (session) throws(ModuleFailure) -> Int in
            guard let signature = session.signature else { throw .operationNotInitialized }
            return signature.size
        }
    }

    func cancelSignature(in session: UInt) { state.withLock { $0.sessions[session]?.signature = nil } }

    func sign(_ data: [UInt8], in session: UInt) throws(ModuleFailure) -> [UInt8] {
        let signature = try change(session) { (session) throws(ModuleFailure) -> TokenSignature? in
            defer { session.signature = nil }
            return session.signature
        }
        guard let signature else { throw .operationNotInitialized }
        let input: TokenSignature.Input
        do throws(ModuleFailure) {
            input = try signature.input(data)
        } catch {
            report(
                CofferError(
                    .refused, "Only digests of SHA-256, SHA-384 and SHA-512 are signed for other programs."))
            throw error
        }
        do throws(CofferError) {
            return try sign(input, with: signature.publicKey)
        } catch {
            throw failure(error)
        }
    }

    private func sign(
        _ input: TokenSignature.Input, with key: SigningPublicKey
    ) throws(CofferError) -> [UInt8] {
        let (open, confirm) = (openVault, confirm)
        return try Self.wait { () async throws(CofferError) -> [UInt8] in
            let store = try await open(true).keyPairs
            let signature: [UInt8]?
            switch input {
            case .message(let message):
                signature = try await store.sign(
                    message, withKey: key, forOneOf: Self.uses, scheme: .ed25519, confirm: confirm)
            case .digest(let digest, let scheme):
                signature = try await store.sign(
                    digest: digest, withKey: key, forOneOf: Self.uses, scheme: scheme, confirm: confirm)
            }
            guard let signature else {
                throw CofferError(.absent, "The vault no longer has the key pair that was asked for.")
            }
            return signature
        }
    }
}
