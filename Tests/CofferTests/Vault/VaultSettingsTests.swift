@testable import Coffer
import CofferBase
import TestSupport
import Testing

@Suite("Settings of an existing vault")
struct VaultSettingsTests {
    private static let passcode = "correct horse 7"
    private static let settings = VaultSettings(
        policy: PasscodePolicy(.digits, minimumLength: 6, rejectsCommon: true, denylist: [1, 2]),
        delaysAttempts: true, inactivity: .seconds(600))

    /// A change of these settings.
    private static func changed(_ change: (inout VaultSettings) -> Void) -> VaultSettings {
        var changed = settings
        change(&changed)
        return changed
    }

    private static func policy(
        _ characters: PasscodePolicy.Characters = .digits, _ length: Int = 6, common: Bool = true,
        _ denied: Set<UInt64> = [1, 2]
    ) -> VaultSettings {
        changed {
            $0.policy = PasscodePolicy(
                characters, minimumLength: length, rejectsCommon: common, denylist: denied)
        }
    }

    private static let looser = [
        policy(.any), policy(.digits, 5), policy(common: false), policy(.digits, 6, [1]),
        policy(.digits, 6, [1, 3]), policy(.lettersAndDigits, 5), policy(.any, 128),
        changed { $0.delaysAttempts = false }, changed { $0.inactivity = .seconds(601) },
        changed { $0.inactivity = nil }, changed { $0.erasesAfterTenFailures = false },
        changed {
            $0.erasesAfterTenFailures = false
            $0.inactivity = .seconds(1)
        },
        changed {
            $0.inactivity = .seconds(1)
            $0.delaysAttempts = false
        },
    ]
    private static let tighter = [
        settings, policy(.lettersAndDigits), policy(.digits, 7), policy(.digits, 6, [1, 2, 3]),
        changed { $0.inactivity = .seconds(599) }, changed { $0.inactivity = .seconds(1) },
        changed { $0.requiresDiskEncryption = true }, changed { $0.allowsRecoveryKey = false },
    ]

    @Test("Less in any part is looser, whatever is more elsewhere", arguments: looser)
    func isLooser(_ other: VaultSettings) { #expect(other.isLooser(than: Self.settings)) }

    @Test("The same and more are not looser", arguments: tighter)
    func isNotLooser(_ other: VaultSettings) { #expect(!other.isLooser(than: Self.settings)) }

    @Test("From none, every time is tighter, and delays are")
    func fromNothing() {
        let none = VaultSettings(
            policy: .none, delaysAttempts: false, erasesAfterTenFailures: false, inactivity: nil)
        #expect(!Self.settings.isLooser(than: none) && none.isLooser(than: Self.settings))
        #expect(Self.settings.locksSooner(than: none) && !none.locksSooner(than: Self.settings))
    }

    @Test("Not to require an encrypted disk is looser than to require it, whatever else is tighter")
    func diskEncryption() {
        let requiring = Self.changed { $0.requiresDiskEncryption = true }
        let tighterElsewhere = Self.changed { $0.inactivity = .seconds(1) }
        #expect(Self.settings.isLooser(than: requiring) && tighterElsewhere.isLooser(than: requiring))
        #expect(!requiring.isLooser(than: requiring) && !requiring.isLooser(than: Self.settings))
        let forbidding = Self.changed { $0.allowsRecoveryKey = false }
        #expect(Self.settings.isLooser(than: forbidding) && tighterElsewhere.isLooser(than: forbidding))
    }

    @Test("A locked vault is tightened without its passcode, and loosened with it only")
    func passcodes() async throws {
        let home = try TestHome()
        _ = try await home.create(Self.passcode, options: TestHome.options { $0.policy = .alphanumeric })
        let vault = try await home.open()
        let tightened = try await vault.changeSettings {
            $0.inactivity = .seconds(120)
            $0.delaysAttempts = true
        }
        #expect(try await home.open().settings() == tightened && tightened.inactivity == .seconds(120))
        let record = try home.read("keybag")
        for passcode in [nil, "wrong"] {
            let error = await refusal {
                try await vault.changeSettings(passcode: passcode.map { try Passcode(copying: $0) }) {
                    $0.inactivity = nil
                }
            }
            #expect(error?.code == (passcode == nil ? .locked : .wrongPasscode))
            #expect(try home.read("keybag") == record)
        }
        #expect(try await vault.status().attemptsLeft == 9)
        let loosened = try await vault.changeSettings(passcode: Passcode(copying: Self.passcode)) {
            (settings) throws(CofferError) in
            settings.inactivity = nil
            settings.policy = try settings.policy.replacing(characters: .any, minimumLength: 1)
        }
        #expect(loosened.policy == .none && loosened.inactivity == nil && loosened.delaysAttempts)
        #expect(try await home.unlocked(Self.passcode).settings() == loosened)
        #expect(!vault.isUnlocked)
    }

    @Test("A passcode that is not needed is not evaluated; without one, nothing needs it")
    func needless() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        try await vault.changeSettings(passcode: Passcode(copying: "wrong")) {
            $0.policy = .alphanumeric
        }
        #expect(try await vault.status().attemptsLeft == 10 && vault.isUnlocked)
        let other = try TestHome()
        let open = try await other.create()
        try await open.changeSettings { $0.inactivity = nil }
        #expect(try await other.open().settings().inactivity == nil)
    }

    @Test("A shorter time locks at once; a refused change keeps everything")
    func lock() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let before = try home.read("keybag")
        #expect(
            await refusal { try await vault.changeSettings { $0.inactivity = .zero } }?.code
                == .invalidInput)
        #expect(
            await refusal {
                try await vault.changeSettings { (_) throws(CofferError) in throw CofferError(.absent, "") }
            }?.code == .absent)
        #expect(try home.read("keybag") == before && vault.isUnlocked)
        try await vault.changeSettings { $0.inactivity = .seconds(60) }
        #expect(!vault.isUnlocked)
    }

    @Test("A change that was cut short is the old settings or the new ones", arguments: [0, 1])
    func cutShort(_ slot: Int) async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let (old, bytes) = (try await vault.settings(), try home.read("keybag"))
        let new = try await vault.changeSettings { $0.inactivity = .seconds(60) }
        let size = bytes.count / 2
        let written = try home.read("keybag")
        // One slot was written, and the other still holds what was there before.
        let mixed =
            slot == 0
            ? Array(written.prefix(size)) + Array(bytes.suffix(size))
            : Array(bytes.prefix(size)) + Array(written.suffix(size))
        try home.write("keybag", mixed)
        #expect(try await home.open().settings() == new)
        // A slot that was cut short in the middle.
        try home.write("keybag", slot == 0 ? mixed.clearing(0..<size) : mixed.clearing(size..<2 * size))
        #expect(try await home.open().settings() == old)
    }

    @Test("Parts of a policy are replaced, the others stay")
    func replacing() throws {
        let policy = try PasscodePolicy.strictest(of: [.digits, .minimumLength(6), .withDenylist(["1357"])])
        #expect(try policy.replacing() == policy)
        #expect(try policy.replacing(characters: .lettersAndDigits).minimumLength == 6)
        #expect(try PasscodePolicy.none.replacing(characters: .lettersAndDigits) == .alphanumeric)
        #expect(try PasscodePolicy.none.replacing(characters: .digits) == .digits)
        #expect(try policy.replacing(characters: .any, minimumLength: 1, denying: []) == .none)
        for length in [0, 129] {
            #expect(failure { _ = try policy.replacing(minimumLength: length) } == .invalidInput)
        }
    }
}

extension [UInt8] {
    /// These bytes with zeros in a range.
    fileprivate func clearing(_ range: Range<Int>) -> [UInt8] {
        var bytes = self
        for index in range { bytes[index] = 0 }
        return bytes
    }
}
