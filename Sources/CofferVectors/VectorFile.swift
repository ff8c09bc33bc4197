import CofferBase

/// A vector file in Wycheproof's JSON schema, read strictly: unknown members are errors.
struct VectorFile: Sendable {
    let algorithm: String
    let declaredCount: Int
    let source: String
    let notes: [String: JSONValue]?
    let cases: [VectorCase]

    /// Reads only the header, which shows whether the algorithm is implemented.
    static func head(of document: JSONValue?) throws(MalformedVector) -> (algorithm: String, count: Int) {
        guard let document else { throw MalformedVector("the file is not JSON") }
        guard let top = document.object, let algorithm = top["algorithm"]?.string, !algorithm.isEmpty else {
            throw MalformedVector("the file does not specify an algorithm")
        }
        guard let count = top["numberOfTests"]?.int, count >= 0 else {
            throw MalformedVector("the file does not declare the number of tests")
        }
        return (algorithm, count)
    }

    /// Reads the complete file. The file's algorithm must be the one that `procedure` tests.
    static func read(_ document: JSONValue, _ procedure: VectorTest) throws(MalformedVector) -> VectorFile {
        let (algorithm, count) = try head(of: document)
        let top = document.object ?? [:]
        try throwIfUnknown(top.keys, allowed: topMembers, in: "the file")
        guard let groups = top["testGroups"]?.array else {
            throw MalformedVector("the file has no test groups")
        }
        var cases: [VectorCase] = []
        for group in groups {
            guard var members = group.object, let tests = members.removeValue(forKey: "tests")?.array else {
                throw MalformedVector("a group has no tests")
            }
            guard let type = members["type"]?.string, procedure.groupTypes.contains(type) else {
                throw MalformedVector("a group has no type that belongs to \(algorithm)")
            }
            try throwIfUnknown(members.keys, allowed: groupMembers, in: "a group")
            for test in tests {
                guard let fields = test.object else { throw MalformedVector("a test is not an object") }
                cases.append(VectorCase(fields, group: members))
            }
        }
        let named: [JSONValue?] = [top["source"]] + groups.map { $0.object?["source"] }
        let sources = named.compactMap { $0 }.compactMap { name(of: $0) }
        return VectorFile(
            algorithm: algorithm, declaredCount: count,
            source: summary(sources), notes: top["notes"]?.object, cases: cases)
    }

    private static let topMembers: Set<String> = [
        "algorithm", "schema", "generatorVersion", "numberOfTests", "header", "notes", "source", "seed",
        "testGroups",
    ]

    private static let groupMembers: Set<String> = [
        "type", "source", "comment", "keySize", "ivSize", "tagSize", "publicKey", "publicKeyDer",
        "publicKeyPem", "publicKeyJwk", "publicKeyAsn", "privateKey", "privateKeyJwk", "privateKeyPem",
        "privateKeyPkcs8", "keyAsn", "keyDer", "keyJwk", "keyPem", "sha", "mgf", "mgfSha", "sLen",
    ]

    private static func throwIfUnknown(
        _ names: some Sequence<String>, allowed: Set<String>, in place: String
    ) throws(MalformedVector) {
        if let unknown = names.first(where: { !allowed.contains($0) }) {
            throw MalformedVector("\(place) has an unknown member \"\(unknown.prefix(40))\"")
        }
    }

    /// Returns the first source and the number of other sources.
    private static func summary(_ sources: [String]) -> String {
        let others = Set(sources).count - 1
        return (sources.first ?? "") + (others > 0 ? " and \(others) more" : "")
    }

    /// Returns the name of a source, which is text, or an object with a name and a version.
    private static func name(of source: JSONValue) -> String? {
        if let text = source.string { return text }
        guard let name = source.object?["name"]?.string else { return nil }
        guard let version = source.object?["version"]?.string, version != "published" else { return name }
        return "\(name) \(version)"
    }
}
