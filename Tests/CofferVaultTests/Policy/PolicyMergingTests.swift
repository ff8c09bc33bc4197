import CofferBase
import CofferEngine
import CofferVault
import SystemPackage
import Testing
import TestSupport

@Suite("Merging policies")
struct PolicyMergingTests {
    /// Documents that together have several values of each restriction, in both orders of strictness.
    private static let texts = [
        #"{}"#, #"{"PasscodeRequired":true,"AllowExport":true,"PasscodeMinimumLength":6}"#,
        #"{"PasscodeRequired":false,"AllowExport":false,"mobile_policy":{"pin_length":4}}"#,
        #"{"PasscodeCharacters":"digits","PasscodeDenyCommon":true}"#,
        #"{"PasscodeCharacters":"alphanumeric","InactivityMinutes":0,"AttemptsBeforeWipe":10}"#,
        #"{"PasscodeCharacters":"any","InactivityMinutes":30,"AttemptsBeforeWipe":3}"#,
        #"{"InactivityMinutes":5,"AllowedKeyrings":["file"],"RefreshPolicy":"monthly"}"#,
        #"{"AllowedKeyrings":["secret-service"],"RefreshPolicy":"firstUse","TokenLifetimeSeconds":900}"#,
        #"{"AllowedKeyrings":"secret-service,file","RefreshPolicy":"hourly","TokenLifetimeSeconds":7200}"#,
        #"{"AllowedUnlockMethods":["passcode"],"AllowedPlatforms":["linux-desktop"],"ContactDays":7}"#,
        #"{"AllowedUnlockMethods":["passcode","deviceKey"],"AllowedPlatforms":["linux"],"ContactDays":30}"#,
        #"{"IPRanges":["10.0.0.0/8","192.0.2.0/24","2001:db8::/32"],"RequireCertAuth":true}"#,
        #"{"IPRanges":["10.1.0.0/16","192.0.0.0/16","10.2.3.4"],"RequireCertAuth":false}"#,
        #"{"IPRanges":["2001:db8:1::/48","10.1.2.0/24"],"mobile_policy":{"pin_length":9,"screen_lock":1}}"#,
        #"{"BackupRecipients":["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]}"#,
        #"{"AllowFileExport":false,"AllowImport":false}"#,
        #"{"AllowRemovableMedia":false,"AllowRecoveryKey":false}"#,
        #"{"RequireDiskEncryption":true,"RequireHardwareKey":false,"RequireBackup":false}"#,
    ]

    private func policies() throws -> [ManagedPolicy] {
        try Self.texts.map { text in
            let root = try ScratchDirectory.make()
            try root.descriptor.setPermissions(0o755)
            try root.write("a.json", Array(text.utf8))
            return try PolicyDirectory(
                below: root.path, components: [], owner: root.descriptor.status().owner
            ).read()
        }
    }

    private func values(_ policy: ManagedPolicy) -> [PolicyKey: PolicyValue] {
        Dictionary(uniqueKeysWithValues: policy.keys.map { ($0, policy[$0] ?? .text("")) })
    }

    private func merged(_ policies: ManagedPolicy...) -> [PolicyKey: PolicyValue] {
        values(.strictest(of: policies))
    }

    @Test("Restrictions merge the same in every order and grouping, and with themselves")
    func laws() throws {
        let all = try policies()
        #expect(Set(all.flatMap(\.keys)) == Set(PolicyKey.allCases.filter(\.isRestriction)))
        for one in all {
            #expect(merged(one, one) == values(one))
            for two in all {
                #expect(merged(one, two) == merged(two, one))
                #expect(merged(one, two, two, one) == merged(one, two))
                for three in all {
                    let left = merged(.strictest(of: [one, two]), three)
                    #expect(left == merged(one, .strictest(of: [two, three])))
                    #expect(left == merged(three, one, two))
                }
            }
        }
    }

    @Test("The stricter value of each restriction wins")
    func strictest() throws {
        let policy = ManagedPolicy.strictest(of: try policies())
        #expect(policy[.passcodeRequired] == .flag(true))
        #expect(policy[.allowExport] == .flag(false))
        #expect(policy[.passcodeMinimumLength] == .number(9))
        #expect(policy[.passcodeCharacters] == .text("alphanumeric"))
        #expect(policy[.inactivityMinutes] == .number(1))
        #expect(policy[.attemptsBeforeWipe] == .number(3))
        #expect(policy[.allowedKeyrings] == .list([]))
        #expect(policy[.refreshPolicy] == .text("firstUse"))
        #expect(policy[.tokenLifetimeSeconds] == .number(900))
        #expect(policy[.allowedUnlockMethods] == .list(["passcode"]))
        #expect(policy[.ipRanges] == .list(["10.1.2.0/24"]))
        #expect(policy[.contactDays] == .number(7))
        #expect(policy.flag(.requireHardwareKey) == false)
    }

    @Test("Only addresses in every list of ranges are permitted")
    func addresses() throws {
        let all = try policies().filter { $0[.ipRanges] != nil }
        #expect(ManagedPolicy.none.permits(address: "192.0.2.1"))
        let both = ManagedPolicy.strictest(of: [all[0], all[1]])
        #expect(both[.ipRanges] == .list(["10.1.0.0/16", "10.2.3.4/32", "192.0.2.0/24"]))
        for address in ["10.1.0.0", "10.1.255.255", "10.2.3.4", "192.0.2.255"] {
            #expect(both.permits(address: address), "\(address)")
        }
        let others = [
            "10.2.3.5", "192.0.3.0", "10.0.0.1", "2001:db8::1", "::ffff:10.1.0.0", "x", "", "10.1",
        ]
        for address in others {
            #expect(!both.permits(address: address), "\(address)")
        }
        let six = ManagedPolicy.strictest(of: [all[0], all[2]])
        #expect(six.permits(address: "2001:db8:1::5"))
        #expect(!six.permits(address: "2001:db8:2::5"))
    }
}
