import CofferBase

/// The reading of a well-formed document: the values of known keys, and all findings.
struct PolicyReading {
    private(set) var entries: [PolicyKey: PolicyDocument.Entry] = [:]
    private(set) var findings: [PolicyFinding] = []

    private static let attributes = "custom_attributes"
    private static let mobilePolicy = "mobile_policy"

    /// Reads a document's dictionary.
    mutating func read(_ root: PolicyNode) {
        guard case .dictionary(let members) = root.content else { return }
        for member in members {
            if member.key.hasSameBytes(as: Self.attributes) {
                readMembers(of: member) { reading, inner in
                    reading.read(inner, as: PolicyKey.named(inner.key).flatMap { $0.isAttribute ? $0 : nil })
                }
            } else if member.key.hasSameBytes(as: Self.mobilePolicy) {
                readMembers(of: member) { reading, inner in
                    let alias = PolicyKey.mobilePolicy.first { $0.name.hasSameBytes(as: inner.key) }
                    reading.read(inner, as: alias?.key)
                }
            } else {
                read(member, as: PolicyKey.named(member.key).flatMap { $0.isAttribute ? nil : $0 })
            }
        }
        checkServers()
    }

    private mutating func readMembers(
        of member: PolicyNode.Member, _ body: (inout PolicyReading, PolicyNode.Member) -> Void
    ) {
        guard case .dictionary(let members) = member.value.content else {
            return add(
                .error, member, "The value must be a dictionary, not \(member.value.typeName).")
        }
        for inner in members { body(&self, inner) }
    }

    private mutating func read(_ member: PolicyNode.Member, as key: PolicyKey?) {
        guard let key else { return addUnknown(member) }
        let value: PolicyValue
        switch key.read(member.value) {
        case .value(let read): value = read
        case .warned(let read, let warning):
            value = read
            add(.warning, member, warning)
        case .invalid(let reason): return add(.error, member, reason)
        }
        let entry = PolicyDocument.Entry(value: value, line: member.line)
        guard let old = entries[key] else { return entries[key] = entry }
        // The key is there under its own name and under another one, which only restrictions have.
        if key.strictest(old.value, value) != old.value { entries[key] = entry }
    }

    private mutating func checkServers() {
        guard let labels = entries[.appServiceHostLabels], case .list(let texts) = labels.value else {
            return
        }
        var hosts: [String] = []
        if case .list(let list) = entries[.appServiceHosts]?.value { hosts = list }
        guard texts.count != hosts.count else { return }
        // An invalid list of servers has its own finding.
        let key = PolicyKey.appServiceHosts.rawValue
        guard !findings.contains(where: { $0.key?.hasSameBytes(as: key) == true }) else { return }
        findings.append(
            PolicyFinding(
                .error, labels.line, PolicyKey.appServiceHostLabels.rawValue,
                "There are \(texts.count) labels for \(hosts.count) servers."))
    }

    private mutating func add(_ kind: PolicyFinding.Kind, _ member: PolicyNode.Member, _ message: String) {
        findings.append(PolicyFinding(kind, member.line, member.key, message))
    }

    private mutating func addUnknown(_ member: PolicyNode.Member) {
        let suggestion = Self.suggestion(for: member.key)
        let advice = suggestion.map { " Did you mean \($0)?" } ?? ""
        findings.append(
            PolicyFinding(
                .unknownKey, member.line, member.key,
                "This key is not known here and has no effect.\(advice)",
                suggestion: suggestion))
    }

    /// Returns the known key that resembles a name most; `nil` if none does.
    private static func suggestion(for name: String) -> String? {
        guard (3...64).contains(name.utf8.count) else { return nil }
        let known =
            PolicyKey.allCases.map { $0.isAttribute ? "\(attributes).\($0.rawValue)" : $0.rawValue }
            + PolicyKey.mobilePolicy.map { "\(mobilePolicy).\($0.name)" }
        let folded = name.foldedASCII
        let ranked = known.compactMap { full -> (name: String, distance: Int)? in
            let last = full.parts(between: ".").last ?? full
            // A document may have a thousand unknown keys, and most names are too long or too short.
            guard abs(last.utf8.count - folded.utf8.count) <= 2 else { return nil }
            return (name: full, distance: EditDistance.between(folded, last.foldedASCII))
        }
        guard let best = ranked.min(by: { $0.distance < $1.distance }), best.distance <= 2 else { return nil }
        return best.name
    }
}
