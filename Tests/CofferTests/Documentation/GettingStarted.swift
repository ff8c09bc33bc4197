import Coffer
import CofferTesting
import Dispatch
import Foundation
import SystemPackage
import Testing

/// The code of the Getting Started article and of the README: what stands between the markers is printed
/// there word for word, and is run here.
enum GettingStarted {
    static func location() throws -> VaultLocation {
        // snippet: location
        let location = try VaultLocation.default(for: "hello")
        // snippet end
        return location
    }

    static func options() -> VaultOptions {
        // snippet: options
        var options = VaultOptions()
        options.policy = .alphanumeric
        options.inactivity = .seconds(300)
        // snippet end
        return options
    }

    static func create(
        at location: VaultLocation, options: VaultOptions, passcode: Passcode
    ) async throws -> Vault {
        // snippet: create
        let vault = try await Vault.create(at: location, options: options, passcode: passcode)
        // snippet end
        return vault
    }

    /// Needs a terminal: compiled, not run.
    static func unlockFromTerminal(at location: VaultLocation) async throws -> Vault {
        // snippet: open
        let vault = try await Vault(at: location)
        try await vault.unlock(with: .readFromTerminal())
        // snippet end
        return vault
    }

    static func openOrCreate(
        at location: VaultLocation, options: VaultOptions, passcode: Passcode
    ) async throws -> Vault {
        // snippet: openOrCreate
        let vault = try await Vault.openOrCreate(at: location, options: options, passcode: passcode)
        // snippet end
        return vault
    }

    /// Needs a terminal: compiled, not run.
    static func askForPasscode(at location: VaultLocation, options: VaultOptions) async throws -> Vault {
        // snippet: ask
        let policy = options.policy
        let vault = try await Vault.openOrCreate(at: location, options: options) { isNew in
            try isNew ? .readNewFromTerminal(policy: policy) : .readFromTerminal()
        }
        // snippet end
        return vault
    }

    // snippet: unlock
    static func unlock(_ vault: Vault, with passcode: Passcode) async throws -> String {
        do throws(CofferError) {
            try await vault.unlock(with: passcode)
            return "open"
        } catch {
            switch error.code {
            case .wrongPasscode:
                return "wrong, \(error.attemptsLeft ?? 0) attempts left"
            case .attemptDelayed:
                return "wait \(error.retryAfter ?? .zero)"
            case .wiped:
                return "erased; make a new vault"
            default:
                throw error
            }
        }
    }
    // snippet end

    static func setToken(_ key: String, in vault: Vault) async throws -> String? {
        // snippet: set
        let id = try TokenID(service: "api.example.org", account: "ada")
        try await vault.tokens.set(key, for: id)
        let stored = try await vault.tokens[id]?.string
        // snippet end
        return stored
    }

    // snippet: codable
    struct Login: Codable, Equatable {
        let user: String
        let password: String
    }
    // snippet end

    static func putLogin(_ login: Login, for id: TokenID, in vault: Vault) async throws -> Login? {
        // snippet: putLogin
        try await vault.tokens.put(encoding: login, for: id)
        let stored = try await vault.tokens[id]?.decoded(as: Login.self)
        // snippet end
        return stored
    }

    static func putToken(in vault: Vault) async throws -> PutResult {
        // snippet: put
        let id = try TokenID(service: "api.example.org", account: "ada", kind: .refresh)
        let stored = try await vault.tokens.put(
            Token(copying: "the token as the server sent it"), for: id, scopes: ["read"])
        // snippet end
        return stored
    }

    static func useToken(_ id: TokenID, in vault: Vault) async throws -> String? {
        // snippet: use
        let found = try await vault.tokens.get(id)
        let header = found?.token.exposingString { text in "Bearer " + text }
        // snippet end
        return header
    }

    static func copyToken(_ id: TokenID, in vault: Vault) async throws -> [UInt8]? {
        let found = try await vault.tokens.get(id)
        // snippet: copy
        let bytes = found?.token.copyBytes()
        // snippet end
        return bytes
    }

    static func replaceToken(_ id: TokenID, _ stored: PutResult, in vault: Vault) async throws {
        // snippet: replace
        if let version = stored.version {
            _ = try await vault.tokens.put(
                Token(copying: "the token after it"), for: id, precondition: .version(version))
        }
        // snippet end
    }

    static func refreshToken(
        _ id: TokenID, in vault: Vault,
        _ exchange: @escaping @Sendable (_ current: Token) async throws -> Token
    ) async throws -> RefreshResult? {
        // snippet: refresh
        let fresh = try await vault.tokens.refresh(id) { current, _ in
            RefreshResponse(try await exchange(current))
        }
        // snippet end
        return fresh
    }

    static func expire(_ key: String, for id: TokenID, in vault: Vault) async throws -> Bool? {
        // snippet: expires
        try await vault.tokens.put(key, for: id, expires: Date(timeIntervalSinceNow: 3600))
        let isExpired = try await vault.tokens.info(for: id)?.isExpired(at: Date())
        // snippet end
        return isExpired
    }

    static func listTokens(in vault: Vault) async throws {
        // snippet: listTokens
        for info in try await vault.tokens.list() {
            print(info.id.service, info.id.account, info.id.kind, info.expires as Any)
        }
        // snippet end
    }

    static func path() -> FilePath {
        // snippet: path
        let path: FilePath = "report.pdf"
        // snippet end
        return path
    }

    static func addFile(_ path: FilePath, to vault: Vault) async throws -> FileID {
        // snippet: add
        let file = try await vault.files.add(contentsOf: path) { progress in
            assert(progress.completed <= progress.total)
        }
        // snippet end
        return file
    }

    static func addBytes(to vault: Vault) async throws -> FileID {
        // snippet: addBytes
        let note = try await vault.files.add(Array("call the harbour".utf8), name: "note.txt")
        // snippet end
        return note
    }

    static func findFile(in vault: Vault) async throws -> FileID? {
        // snippet: findFile
        let files = try await vault.files.list()
        let report = files.last { $0.name == "report.pdf" }
        let text = report?.id.description
        let id = try text.map { try FileID($0) }
        // snippet end
        return id
    }

    static func firstBytes(of file: FileID, in vault: Vault) async throws -> [UInt8] {
        // snippet: read
        let start = try await vault.files.withDecryptedBytes(of: file, range: 0..<4) { bytes in
            bytes.indices.map { bytes[$0] }
        }
        // snippet end
        return start
    }

    static func countBytes(of file: FileID, in vault: Vault) async throws -> Int64 {
        // snippet: chunks
        let reader = try await vault.files.reader(for: file)
        var count: Int64 = 0
        for try await chunk in reader.chunks {
            count += Int64(chunk.count)
        }
        assert(count == reader.length)
        // snippet end
        return count
    }

    static func view(_ file: FileID, in vault: Vault) async throws -> FilePath {
        // snippet: view
        let seen = try await vault.files.withViewCopy(of: file) { path in
            // Hand the path to a viewer and wait for its end.
            path
        }
        // snippet end
        return seen
    }

    static func lock(_ vault: Vault) {
        // snippet: lock
        vault.lock()
        // snippet end
    }

    /// Would end the tests: compiled, not run.
    static func lockOnTermination(_ vault: Vault) -> any DispatchSourceSignal {
        // snippet: terminate
        signal(SIGTERM, SIG_IGN)
        let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
        termination.setEventHandler {
            vault.lock()
            exit(128 + SIGTERM)
        }
        termination.activate()
        // snippet end
        return termination
    }

    static func wipe(_ vault: Vault) async throws -> WipeReceipt {
        // snippet: wipe
        let receipt = try await vault.wipe(reason: "logged out")
        // snippet end
        return receipt
    }

    static func testing() async throws {
        // snippet: testing
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let id = try TokenID(service: "api.example.org", account: "ada")
            try await temporary.vault.tokens.put(Token(copying: "secret"), for: id)
            temporary.clock.advance(by: .seconds(601))
            #expect(!temporary.vault.isUnlocked)
        }
        // snippet end
    }

    // snippet: readme
    static func keepAndUse(_ secret: String, at location: VaultLocation, passcode: Passcode) async throws {
        let vault = try await Vault.openOrCreate(at: location, passcode: passcode)
        defer { vault.lock() }

        let id = try TokenID(service: "api.example.org", account: "ada")
        try await vault.tokens.set(secret, for: id)
        if let key = try await vault.tokens[id]?.string {
            assert(key == secret)
        }
    }
    // snippet end
}
