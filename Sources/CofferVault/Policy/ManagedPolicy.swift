import CofferBase

/// The policy of this machine's administrator, merged from all its sources.
///
/// A vault reads the policy when it is opened and at each unlock, and obeys it until the next unlock. The
/// values of restrictions are the strictest of all sources, so that no source can loosen another one. Of
/// other keys, the first source that has a value counts.
///
/// ```swift
/// let policy = try await vault.managedPolicy()
/// if policy.attribute(.showPrint) == "FALSE" { printButton.isHidden = true }
/// ```
///
/// A policy binds programs that use this library. It does not bind a person who knows the passcode and uses
/// another program.
public struct ManagedPolicy: Sendable, Hashable {
    /// A value and its origins.
    package struct Entry: Sendable, Hashable {
        package let value: PolicyValue
        package let origins: [PolicyOrigin]
    }

    package private(set) var entries: [PolicyKey: Entry] = [:]
    /// The warnings and unknown keys in the policy's files, each after the path of its file.
    public private(set) var notices: [String] = []
    /// The paths of the files in the order in which they were read, and the name of the signed policy.
    public private(set) var files: [String] = []
    /// The SHA-256 digest of all files with their names; `nil` if there is none.
    package internal(set) var digest: [UInt8]?

    /// A policy without any value.
    public static let none = ManagedPolicy()

    init() {}

    /// Whether the policy has no value.
    public var isEmpty: Bool { entries.isEmpty }

    /// The keys that have a value, in the order in which `PolicyKey` lists them.
    public var keys: [PolicyKey] { PolicyKey.allCases.filter { entries[$0] != nil } }

    /// The value of a key; `nil` if the administrator has not set it.
    public subscript(key: PolicyKey) -> PolicyValue? { entries[key]?.value }

    /// Returns the places from which a key's value comes: one, or several if the value was made from several.
    public func origins(of key: PolicyKey) -> [PolicyOrigin] { entries[key]?.origins ?? [] }

    /// Returns a Boolean; `nil` if the administrator has not set the key, or the key has no Boolean.
    public func flag(_ key: PolicyKey) -> Bool? {
        if case .flag(let flag) = self[key] { flag } else { nil }
    }

    /// Returns a number; `nil` if the administrator has not set the key, or the key has no number.
    public func number(_ key: PolicyKey) -> Int? {
        if case .number(let number) = self[key] { number } else { nil }
    }

    /// Returns a text or the value of an attribute, without its quotation marks; `nil` if the administrator
    /// has not set the key, or the key has no text.
    public func attribute(_ key: PolicyKey) -> String? {
        if case .text(let text) = self[key] { text } else { nil }
    }

    /// Whether the policy requires that its user gives a passcode (`PasscodeRequired`). An application with
    /// several accounts shows its lock screen while ``strictest(of:)`` of all accounts requires one, and
    /// offers to sign out, while it is locked, only the accounts whose own policy does.
    public var requiresPasscode: Bool { flag(.passcodeRequired) == true }

    /// Returns a list; `nil` if the administrator has not set the key, or the key has no list.
    public func list(_ key: PolicyKey) -> [String]? {
        if case .list(let texts) = self[key] { texts } else { nil }
    }

    /// Returns whether a service may be used from an IP address. Coffer does not know where requests come
    /// from, so the caller has to ask.
    ///
    /// - Parameter address: An IPv4 or IPv6 address in its usual text form, in lower case.
    /// - Returns: Whether the administrator has set no ranges, or one of them contains the address.
    public func permits(address: String) -> Bool {
        guard let ranges = list(.ipRanges) else { return true }
        guard let bytes = AddressRange.address(address) else { return false }
        return ranges.contains { AddressRange($0)?.contains(bytes) == true }
    }
}

extension ManagedPolicy {
    /// Adds a valid document of the next source in order.
    ///
    /// - Parameters:
    ///   - document: The document.
    ///   - file: The path of its file.
    ///   - isLater: Whether the document comes from the same directory as the former one, in which the last
    ///     file counts for what is not a restriction.
    mutating func add(_ document: PolicyDocument, from file: String, isLater: Bool) {
        files.append(file)
        notices += document.findings.map { "\(file): \($0)" }
        var added = ManagedPolicy()
        added.entries = document.entries.mapValues {
            Entry(value: $0.value, origins: [PolicyOrigin(file: file, line: $0.line)])
        }
        entries = isLater ? Self.merged(added, self).entries : Self.merged(self, added).entries
    }

    /// Returns the strictest of several policies, as one lock screen for several accounts has to follow it.
    /// Of what is not a restriction, the first policy's value counts.
    ///
    /// - Parameter policies: The policies, the most important one first.
    /// - Returns: The strictest policy.
    public static func strictest(of policies: [ManagedPolicy]) -> ManagedPolicy {
        var all = policies.reduce(ManagedPolicy()) { merged($0, $1) }
        all.files = policies.flatMap(\.files)
        all.notices = policies.flatMap(\.notices)
        all.digest = policies.count == 1 ? policies[0].digest : nil
        return all
    }

    private static func merged(_ first: ManagedPolicy, _ second: ManagedPolicy) -> ManagedPolicy {
        var merged = ManagedPolicy()
        let hasServers = first.entries.keys.contains { $0.isOfServerGroup }
        for key in PolicyKey.allCases {
            switch (first.entries[key], second.entries[key]) {
            case (let one?, let other?) where key.isRestriction:
                merged.entries[key] = strictest(key, one, other)
            case (let one?, _): merged.entries[key] = one
            case (nil, let other?):
                // The keys of a group come from one source.
                guard !key.isOfServerGroup || !hasServers else { continue }
                merged.entries[key] = other
            case (nil, nil): break
            }
        }
        return merged
    }

    private static func strictest(_ key: PolicyKey, _ one: Entry, _ other: Entry) -> Entry {
        let value = key.strictest(one.value, other.value)
        if value == one.value { return one }
        if value == other.value { return other }
        return Entry(value: value, origins: one.origins + other.origins)
    }
}
