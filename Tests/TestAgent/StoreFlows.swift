import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// The flows of sessions and stores: the home has the passcode that ``passcode`` says, or the secret as its
/// own.
extension SecretFlows {
    /// The passcode of homes whose secret is something else.
    static let passcode = "an ordinary passcode"

    static let stores: [String: Flow] = [
        "unlock-lock": { held, location in
            let session = try await Vault(at: location)
            try await session.unlock(with: held.passcode())
            session.lock()
        },
        "wrong-passcode": { held, location in
            let session = try await Vault(at: location)
            try await expect(.wrongPasscode) { try await session.unlock(with: held.passcode()) }
            session.close()
        },
        "passcode-change": { held, location in
            let session = try await unlocked(location)
            try await session.changePasscode(to: held.passcode(), current: Passcode(copying: passcode))
            session.lock()
            try await session.unlock(with: held.passcode())
            session.lock()
        },
        "recovery-key": { held, location in
            // The secret is the key's text.
            let session = try await unlocked(location)
            let typed = try RecoveryKey(held.secret)
            try await session.setRecoveryKey(typed, passcode: Passcode(copying: passcode))
            try await session.checkRecoveryKey(RecoveryKey(typed.text()))
            session.close()
            let recovery = try await VaultRecovery(of: location, with: typed)
            let end = try await recovery.finish(
                newPasscode: Passcode(copying: passcode), newRecoveryKey: RecoveryKey.generate())
            end.vault.close()
        },
        "token-put": { held, location in
            let session = try await unlocked(location)
            try await store(held, session)
            session.lock()
        },
        "token-get": { held, location in
            let session = try await unlocked(location)
            let id = try await store(held, session)
            let same = try await session.tokens.withToken(for: id) { token, _ in
                token.exposing { bytes in held.secret.exposing { ConstantTime.equal($0, bytes) } }
            }
            try require(same == true)
            session.lock()
        },
        "token-remove": { held, location in
            let session = try await unlocked(location)
            let id = try await store(held, session)
            try require(try await session.tokens.remove(id))
            session.lock()
        },
        "file-add": { held, location in
            let session = try await unlocked(location)
            _ = try await session.files.add(contentsOf: FilePath(held.argument))
            session.lock()
        },
        "file-read": { held, location in
            let session = try await unlocked(location)
            let id = try await session.files.add(contentsOf: FilePath(held.argument))
            let count = try await session.files.withDecryptedBytes(of: id) { $0.count }
            try require(count > 0)
            try await session.files.verify(id)
            session.lock()
        },
        "file-view": { held, location in
            let session = try await unlocked(location)
            let id = try await session.files.add(contentsOf: FilePath(held.argument))
            let size = try await session.files.withViewCopy(of: id) { path in
                try Descriptor.open(path, .read).status().size
            }
            try require(size > 0)
            session.lock()
        },
        "file-export": { held, location in
            let session = try await unlocked(location)
            let id = try await session.files.add(contentsOf: FilePath(held.argument))
            try await session.files.export(id, to: FilePath(held.argument + ".exported"))
            session.lock()
        },
        "wipe": { held, location in
            let session = try await unlocked(location)
            try await store(held, session)
            _ = try await session.wipe()
        },
    ]

    private static func unlocked(_ location: VaultLocation) async throws -> Vault {
        let session = try await Vault(at: location)
        try await session.unlock(with: Passcode(copying: passcode))
        return session
    }

    @discardableResult
    private static func store(_ held: Held, _ session: Vault) async throws -> TokenID {
        let token = try held.secret.exposing { (bytes) throws(CofferError) in
            try Token(SecretBytes.copying(bytes))
        }
        let id = try TokenID(service: "api.example.org", account: "someone")
        try await session.tokens.put(token, for: id)
        return id
    }
}
