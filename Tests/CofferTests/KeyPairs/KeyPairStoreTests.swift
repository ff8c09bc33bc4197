@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization
import SystemPackage
import Testing
import TestSupport

@Suite("Key pairs")
struct KeyPairStoreTests {
    private static let passcode = "correct horse"
    private let message = [UInt8].counting(100)

    private func secret() throws -> Passcode { try Passcode(copying: Self.passcode) }

    private func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CofferError)?.code
        }
    }

    private func isValid(_ signature: [UInt8], by pair: KeyPair) throws -> Bool {
        try pair.publicKey.isValid(
            signature: signature.span, for: message.span, scheme: .standard(for: pair.algorithm))
    }

    @Test(
        "A key pair signs, and its public key verifies", arguments: [SigningAlgorithm.ed25519, .p256, .p384])
    func signs(_ algorithm: SigningAlgorithm) async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let pair = try await vault.keyPairs.generate(algorithm, alias: "work")
        #expect(pair.algorithm == algorithm && pair.protection == .whenUnlockedThisDeviceOnly)
        let signature = try await vault.keyPairs.sign(message, with: "work")
        #expect(try isValid(signature, by: pair))
        for other in signature.withEachBitFlipped.prefix(16) { #expect(try !isValid(other, by: pair)) }
        let again = try await home.unlocked()
        #expect(try await again.keyPairs.list() == [pair])
        #expect(try isValid(await again.keyPairs.sign(message, with: "work"), by: pair))
        #expect(
            await code { _ = try await vault.keyPairs.sign(message, with: "work", scheme: .rsaSHA256) }
                == .invalidInput)
    }

    @Test("RSA keys are not generated; aliases are 1 to 64 bytes, unique, and compared as bytes")
    func refuses() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let pairs = vault.keyPairs
        #expect(await code { _ = try await pairs.generate(.rsa, alias: "a") } == .unsupported)
        for alias in ["", String(repeating: "a", count: 65), "a\nb", "\u{7F}", "\u{9B}31m", "\u{2028}"] {
            #expect(await code { _ = try await pairs.generate(.ed25519, alias: alias) } == .invalidInput)
        }
        #expect(await code { _ = try await pairs.generate(.ed25519, alias: "a", uses: []) } == .invalidInput)
        _ = try await pairs.generate(.ed25519, alias: "\u{E9}")
        #expect(await code { _ = try await pairs.generate(.p256, alias: "\u{E9}") } == .alreadyExists)
        _ = try await pairs.generate(.p256, alias: "e\u{301}")
        #expect(try await pairs.list().count == 2)
        #expect(try await pairs.keyPair("\u{E9}")?.algorithm == .ed25519)
        #expect(try await pairs.keyPair("e") == nil)
        #expect(await code { _ = try await pairs.sign(message, with: "none") } == .absent)
        #expect(await code { try await pairs.rename("none", to: "b") } == .absent)
        #expect(await code { try await pairs.rename("\u{E9}", to: "e\u{301}") } == .alreadyExists)
        #expect(try await pairs.remove("none") == nil)
        #expect(try !home.read("keypairs").isEmpty)
    }

    @Test("A locked vault lists key pairs and signs nothing")
    func locked() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let pair = try await vault.keyPairs.generate(.ed25519, alias: "work")
        vault.lock()
        let other = try await home.open()
        for locked in [vault, other] {
            #expect(try await locked.keyPairs.list() == [pair])
            #expect(await code { _ = try await locked.keyPairs.sign(message, with: "work") } == .locked)
            #expect(await code { _ = try await locked.keyPairs.generate(.p256, alias: "b") } == .locked)
            #expect(await code { try await locked.keyPairs.rename("work", to: "b") } == .locked)
        }
        try await vault.unlock(with: secret())
        #expect(try isValid(await vault.keyPairs.sign(message, with: "work"), by: pair))
        vault.lock()
        #expect(try await vault.keyPairs.remove("work") == pair)
        #expect(try await other.keyPairs.list().isEmpty)
    }

    @Test("The uses and the confirmation decide whether a signature is made")
    func uses() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let pairs = vault.keyPairs
        let ssh = try await pairs.generate(.ed25519, alias: "ssh", uses: .ssh)
        #expect(await code { _ = try await pairs.sign(message, with: "ssh") } == .refused)
        let signature = try await pairs.sign(
            message, withKey: ssh.publicKey, for: .ssh, scheme: .ed25519, confirm: { _ in false })
        #expect(try isValid(#require(signature), by: ssh))
        let kept = try await pairs.generate(.ed25519, alias: "kept", uses: .sign, confirmsEachUse: true)
        #expect(await code { _ = try await pairs.sign(message, with: "kept") } == .refused)
        #expect(await code { _ = try await pairs.sign(message, with: "kept") { _ in false } } == .refused)
        #expect(try isValid(await pairs.sign(message, with: "kept") { $0 == kept }, by: kept))
        let refused = await code {
            _ = try await pairs.sign(
                message, withKey: kept.publicKey, for: .ssh, scheme: .ed25519, confirm: { _ in true })
        }
        #expect(refused == .refused)
        #expect(try !home.read("keypairs").isEmpty)
    }

    @Test("A new alias and a new class keep the key, and the old file does not")
    func changes() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let pairs = vault.keyPairs
        let pair = try await pairs.generate(.p256, alias: "a", class: .whenUnlocked)
        try await pairs.rename("a", to: "b")
        #expect(try await pairs.keyPair("a") == nil)
        #expect(try await pairs.keyPair("b")?.id == pair.id)
        #expect(try isValid(await pairs.sign(message, with: "b"), by: pair))
        let result = try await pairs.reclassify(to: .whenUnlockedThisDeviceOnly)
        #expect(result.changed == 1 && result.unchanged == 0 && result.kept.isEmpty)
        #expect(try await pairs.keyPair("b")?.protection == .whenUnlockedThisDeviceOnly)
        #expect(try isValid(await pairs.sign(message, with: "b"), by: pair))
        #expect(await code { _ = try await pairs.reclassify(to: .afterFirstUnlock) } == .locked)
        #expect(try await pairs.reclassify(to: .afterFirstUnlock, passcode: secret()).changed == 1)
        #expect(await code { _ = try await pairs.reclassify(["x"], to: .whenUnlocked) } == .absent)
        vault.lock()
        #expect(try isValid(await pairs.sign(message, with: "b"), by: pair))
    }

    @Test("The passcode's removal destroys the key pairs that depend on it, and counts them")
    func passcodeDependent() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let pairs = vault.keyPairs
        _ = try await pairs.generate(.ed25519, alias: "a", class: .whenPasscodeSetThisDeviceOnly)
        let other = try await pairs.generate(.ed25519, alias: "b")
        #expect(try await vault.passcodeDependentItems().keyPairs == 1)
        #expect(try await vault.changePasscode(to: nil, current: secret()).keyPairs == 1)
        #expect(try await pairs.list() == [other])
        #expect(try isValid(await pairs.sign(message, with: "b"), by: other))
    }

    @Test("A rotation rewraps key pairs of every class; they sign afterwards, also after a reopening")
    func rotation() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        var made: [KeyPair] = []
        for protection in ProtectionClass.allCases {
            made.append(
                try await vault.keyPairs.generate(.ed25519, alias: protection.name, class: protection))
        }
        let before = try home.read("keypairs")
        let report = try await vault.rotateKeys(passcode: secret())
        #expect(report.isComplete && report.keyPairs == made.count && report.unreadableKeyPairs == 0)
        #expect(try home.read("keypairs") != before)
        let again = try await home.unlocked(Self.passcode)
        for vault in [vault, again] {
            for pair in made {
                #expect(try isValid(await vault.keyPairs.sign(message, with: pair.alias), by: pair))
            }
        }
        // The file from before opens with nothing any more.
        try home.write("keypairs", before)
        let code = await code { _ = try await again.keyPairs.sign(message, with: made[0].alias) }
        #expect(code == .corrupt)
    }

    @Test("A rotation keeps the old keys while the file of key pairs cannot be read, and ends when it can")
    func unreadableRotation() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let pair = try await vault.keyPairs.generate(.ed25519, alias: "a")
        let sound = try home.read("keypairs")
        var damaged = sound
        damaged[damaged.count - 1] ^= 1
        try home.write("keypairs", damaged)
        let report = try await vault.rotateKeys(passcode: secret())
        #expect(!report.isComplete && report.unreadableKeyPairs == 1)
        try home.write("keypairs", sound)
        #expect(try isValid(await vault.keyPairs.sign(message, with: "a"), by: pair))
        #expect(try await vault.resumeKeyRotation()?.isComplete == true)
        #expect(try isValid(await vault.keyPairs.sign(message, with: "a"), by: pair))
    }

    @Test("A vault is marked before its first key pair is stored, so that no release rotates without it")
    func mark() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        #expect(try home.keybag().features.isEmpty)
        try home.write("keypairs", [1])
        // The file cannot be read, so nothing is stored, and nothing is marked.
        #expect(await code { _ = try await vault.keyPairs.generate(.ed25519, alias: "a") } == .corrupt)
        #expect(try home.keybag().features.isEmpty)
        try home.write("keypairs", [])
        // A file from before the mark: an upgrade marks it, and no unlock does.
        let unlocked = try await home.unlocked(Self.passcode)
        #expect(try home.keybag().features.isEmpty)
        #expect(try await unlocked.upgrade(passcode: secret(), requiringBackup: false) == [.keyPairs])
        #expect(try home.keybag().features == .keyPairs)
        let other = try TestHome()
        let second = try await other.create()
        let pair = try await second.keyPairs.generate(.ed25519, alias: "a")
        #expect(try other.keybag().features == .keyPairs)
        #expect(try await second.rotateKeys().keyPairs == 1)
        try await second.keyPairs.remove("a")
        _ = try await second.changePasscode(to: secret(), current: nil)
        #expect(try other.keybag().features == .keyPairs)
        #expect(try await second.keyPairs.keyPair(pair.alias) == nil)
    }

    @Test("Key pairs that cannot be read do not prevent an unlock after the passcode was removed")
    func unreadableOrphans() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        _ = try await vault.keyPairs.generate(.ed25519, alias: "a", class: .whenPasscodeSetThisDeviceOnly)
        let kept = try await vault.keyPairs.generate(.ed25519, alias: "b")
        let sound = try home.read("keypairs")
        var damaged = sound
        damaged[damaged.count - 1] ^= 1
        try home.write("keypairs", damaged)
        #expect(try await vault.changePasscode(to: nil, current: secret()).keyPairs == 0)
        let again = try await home.unlocked()
        #expect(try home.keybag().hasOrphans && home.read("keypairs") == damaged)
        #expect(try await again.status().keyPairs == nil)
        try home.write("keypairs", sound)
        #expect(try await again.status().keyPairs == 2)
        let last = try await home.unlocked()
        #expect(try !home.keybag().hasOrphans)
        #expect(try await last.keyPairs.list() == [kept])
        #expect(try isValid(await last.keyPairs.sign(message, with: "b"), by: kept))
        let checks = try await last.securityChecks().filter { $0.name == "key-pairs" }
        #expect(checks.map(\.status) == [.ok])
    }

    @Test("Any changed byte of the file is noticed, and nothing replaces it")
    func damage() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        _ = try await vault.keyPairs.generate(.ed25519, alias: "a")
        let sound = try home.read("keypairs")
        for place in [0, 9, 16, 33, sound.count / 2, sound.count - 1] {
            var damaged = sound
            damaged[place] ^= 1
            try home.write("keypairs", damaged)
            let found = await code { _ = try await vault.keyPairs.list() }
            #expect([.corrupt, .unsupportedVersion, .foreign].contains(found), "\(place)")
            #expect(await code { _ = try await vault.keyPairs.generate(.p256, alias: "b") } == found)
            #expect(try home.read("keypairs") == damaged)
        }
        for size in [0, 8, 31, 32, 60, sound.count - 1] {
            try home.write("keypairs", Array(sound[..<size]))
            #expect(await code { _ = try await vault.keyPairs.list() } == .corrupt, "\(size)")
        }
        try home.write("keypairs", sound)
        #expect(try await vault.keyPairs.list().count == 1)
    }

    @Test("A file that is overwritten while it is read is not taken for a damaged one")
    func overwrittenWhileRead() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        for number in 0..<20 { _ = try await vault.keyPairs.generate(.ed25519, alias: "\(number)") }
        let file = KeyPairFile(device: vault.core.device)
        let contents = try file.read(in: vault.core.home.openVault())
        let core = vault.core
        let writing = Task.detached {
            for _ in 0..<300 {
                try core.home.withExclusiveVault { (directory) throws(CofferError) in
                    try KeyPairFile(device: core.device).write(contents, in: directory, overwriting: true)
                }
            }
        }
        let isDone = Atomic(false)
        let waiting = Task {
            let result = await writing.result
            isDone.store(true, ordering: .sequentiallyConsistent)
            try result.get()
        }
        while !isDone.load(ordering: .sequentiallyConsistent) {
            let directory = try core.home.openVault()
            #expect(try file.read(in: directory).records.count == 20)
            await Task.yield()
        }
        try await waiting.value
    }

    @Test("A wipe leaves no key pairs; the file alone shows that a directory has a vault")
    func wipe() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        _ = try await vault.keyPairs.generate(.ed25519, alias: "a")
        _ = try await vault.wipe(.all, reason: "test")
        #expect((try? home.read("keypairs")) == nil)
        #expect(await code { _ = try await vault.keyPairs.list() } == .wiped)
        #expect(await code { _ = try await vault.keyPairs.sign(message, with: "a") } == .wiped)
    }

    @Test("Nobody changes the description of a private key without the class key")
    func bound() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        _ = try await vault.keyPairs.generate(.ed25519, alias: "a", uses: .ssh, confirmsEachUse: true)
        let file = KeyPairFile(device: vault.core.device)
        let directory = try vault.core.home.openVault()
        let contents = try file.read(in: directory)
        let encoded = contents.records[0].encoded
        // The uses, the flag and the alias: what the device key alone could seal again.
        for place in [5, 6, 40] {
            var changed = encoded
            changed[place] ^= 2
            var forged = contents
            forged.records = [try KeyPairRecord.decode(changed)]
            try file.write(forged, in: directory)
            let alias = forged.records[0].pair.alias
            let code = await code { _ = try await vault.keyPairs.sign(message, with: alias) { _ in true } }
            #expect(code == .corrupt || code == .refused || code == .unsupportedVersion, "\(place)")
            #expect(
                await self.code {
                    _ = try await vault.keyPairs.sign(
                        message, withKey: forged.records[0].pair.publicKey, for: .ssh, scheme: .ed25519,
                        confirm: { _ in true })
                } != nil, "\(place)")
        }
    }
}
