import Coffer
import CofferTesting
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
        let session = try await Vault.create(at: location, options: options, passcode: passcode)
        // snippet end
        return session
    }

    /// Needs a terminal: compiled, not run.
    static func unlockFromTerminal(at location: VaultLocation) async throws -> Vault {
        // snippet: open
        let session = try await Vault(at: location)
        try await session.unlock(with: .readFromTerminal())
        // snippet end
        return session
    }

    // snippet: unlock
    static func unlock(_ session: Vault, with passcode: Passcode) async throws -> String {
        do throws(CofferError) {
            try await session.unlock(with: passcode)
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

    static func putToken(in session: Vault) async throws -> PutResult {
        // snippet: put
        let id = try TokenID(service: "api.example.org", account: "ada", kind: .refresh)
        let stored = try await session.tokens.put(
            Token(copying: "the token as the server sent it"), for: id, scopes: ["read"])
        // snippet end
        return stored
    }

    static func useToken(_ id: TokenID, in session: Vault) async throws -> String? {
        // snippet: use
        let found = try await session.tokens.get(id)
        let header = found?.token.exposingString { text in "Bearer " + text }
        // snippet end
        return header
    }

    static func replaceToken(_ id: TokenID, _ stored: PutResult, in session: Vault) async throws {
        // snippet: replace
        if let version = stored.version {
            _ = try await session.tokens.put(
                Token(copying: "the token after it"), for: id, precondition: .version(version))
        }
        // snippet end
    }

    static func addFile(_ path: FilePath, to session: Vault) async throws -> FileID {
        // snippet: add
        let file = try await session.files.add(contentsOf: path) { progress in
            assert(progress.completed <= progress.total)
        }
        // snippet end
        return file
    }

    static func firstBytes(of file: FileID, in session: Vault) async throws -> [UInt8] {
        // snippet: read
        let start = try await session.files.withDecryptedBytes(of: file, range: 0..<4) { bytes in
            bytes.indices.map { bytes[$0] }
        }
        // snippet end
        return start
    }

    static func view(_ file: FileID, in session: Vault) async throws -> FilePath {
        // snippet: view
        let seen = try await session.files.withViewCopy(of: file) { path in
            // Hand the path to a viewer and wait for its end.
            path
        }
        // snippet end
        return seen
    }

    static func lock(_ session: Vault) {
        // snippet: lock
        session.lock()
        // snippet end
    }

    static func wipe(_ session: Vault) async throws -> WipeReceipt {
        // snippet: wipe
        let receipt = try await session.wipe(reason: "logged out")
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
        let vault = try await Vault(at: location)
        try await vault.unlock(with: passcode)
        defer { vault.lock() }

        let id = try TokenID(service: "api.example.org", account: "ada")
        try await vault.tokens.put(Token(copying: secret), for: id)
        let found = try await vault.tokens.get(id)
        let header = found?.token.exposingString { text in "Bearer " + text }
        assert(header == "Bearer " + secret)
    }
    // snippet end
}
