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

    /// Ranges that are often in each other, in an order that a seed decides.
    private func ranges(_ count: Int, seed: UInt32) -> [AddressRange] {
        var state = seed
        func next(_ bound: UInt32) -> Int {
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int(state >> 16) % Int(bound)
        }
        return (0..<count).compactMap { _ in
            let prefix = next(17) + 8
            let bits = UInt32(next(4) << 14 | next(4) << 8) << 8 & ~(UInt32.max >> UInt32(prefix))
            let text = "\(bits >> 24).\(bits >> 16 & 255).\(bits >> 8 & 255).0/\(prefix)"
            return AddressRange(next(5) == 0 ? "2001:db8::/\(prefix + 24)" : text)
        }
    }

    @Test("Lists of ranges are the same as by comparing all pairs")
    func pairs() {
        for seed in 0..<200 as Range<UInt32> {
            let (one, other) = (ranges(12, seed: seed), ranges(12, seed: seed + 1000))
            let kept = Set(one).filter { range in !one.contains { $0 != range && $0.contains(range) } }
            #expect(Set(AddressRange.reduced(one)) == kept && AddressRange.reduced(one).count == kept.count)
            let both = one.flatMap { a in
                other.compactMap { a.contains($0) ? $0 : $0.contains(a) ? a : nil }
            }
            #expect(AddressRange.intersection(one, other) == AddressRange.reduced(both))
            #expect(AddressRange.intersection(other, one) == AddressRange.reduced(both))
        }
    }

    @Test("Documents with as many ranges or unknown keys as there can be are read", .timeLimit(.minutes(2)))
    func longest() throws {
        let addresses = (0..<16_000).map { "\"\(10 + $0 >> 16).\($0 >> 8 & 255).\($0 & 255).9\"" }
        let text = #"{"IPRanges":[\#(addresses.joined(separator: ","))]}"#
        let document = PolicyDocument(reading: Array(text.utf8), as: .json)
        #expect(document.isValid && document.findings.isEmpty)
        guard case .list(let read)? = document.values[PolicyKey.ipRanges] else {
            Issue.record("There are no ranges.")
            return
        }
        #expect(read.count == 16_000)
        let ranges = read.compactMap { AddressRange($0) }
        #expect(AddressRange.intersection(ranges, ranges.reversed()) == ranges)
        let name = String(repeating: "x", count: 60)
        let unknown = (0..<1000).map { "\"\(name)\($0)\":1" }.joined(separator: ",")
        let other = PolicyDocument(reading: Array("{\(unknown)}".utf8), as: .json)
        #expect(other.isValid && other.findings.count == 1000)
    }
}
