import Testing

/// Rule 10: the direction of references between the folders of a target.
@Suite("Rule 10: folders")
struct FolderRulesTests {
    private static let coffer: [String: Set<String>] = [
        "Anchors": ["Core", "Diagnostics", "Files", "RemoteCommands", "Vault"],
        // Tokens: what a lock and a logout clear.
        "Core": ["Lock", "Tokens"],
        "Diagnostics": ["Core", "Files", "KeyPairs", "Lock", "Recovery", "Tokens", "Upgrade", "Vault"],
        "Files": ["Core"],
        "KeyPairs": ["Core"],
        "Recovery": ["Core", "Vault"],
        "Refresh": ["Core", "Revocation", "Tokens"],
        "RemoteCommands": ["Core", "Wipe"],
        "Revocation": ["Core", "RemoteCommands", "Tokens", "Wipe"],
        "Rotation": ["Core", "Files", "KeyPairs", "Tokens", "Vault"],
        "SSH": ["Core", "KeyPairs", "Vault"],
        "Tokens": ["Core"],
        "Upgrade": ["Core", "Files", "Vault"],
        "Vault": [
            "Core", "Files", "KeyPairs", "Lock", "RemoteCommands", "Revocation", "Tokens", "Wipe",
        ],
        // RemoteCommands: the record on the disk, whose orders to erase tokens are done when they are gone.
        "Wipe": ["Core", "Files", "KeyPairs", "RemoteCommands", "Tokens"],
    ]
    private static let cofferVault: [String: Set<String>] = [
        "Anchors": ["Coding", "DeviceKey", "Directory", "Records"],
        "Attempts": ["Coding", "DeviceKey", "Keybag", "Records", "SecretService"],
        "DeviceKey": ["Coding", "SecretService"],
        "Directory": [
            "Anchors", "Attempts", "Coding", "DeviceKey", "Keybag", "Policy", "SecretService", "Storage",
        ],
        "Keybag": ["Coding", "DeviceKey", "Records"],
        "Policy": ["Coding", "DeviceKey", "Keybag", "Records"],
        "Records": ["Coding", "DeviceKey"],
        "Recovery": ["Coding", "DeviceKey", "Keybag"],
        "SecretService": ["Coding", "Storage"],
    ]
    private static let cofferCrypto: [String: Set<String>] = [
        "AEAD": ["KDF", "Keys"], "Age": ["AEAD", "KDF", "Keys"], "Certificates": ["KDF", "Signing"],
        "Insecure": ["AEAD", "KDF", "Keys"],
        "KDF": ["Keys"],
        "JOSE": ["KDF", "Keys", "Signing"], "KeyFiles": ["Certificates", "KDF", "Keys", "Signing"],
        "Keyset": ["AEAD", "Keys"], "Signing": ["Keys"],
        "Wrapping": ["AEAD", "KDF", "Keys"],
    ]
    private static let cofferDatabase: [String: Set<String>] = [
        "Retention": ["Soups"], "Vault": ["Encrypted", "Soups"],
    ]
    private static let cofferBackup: [String: Set<String>] = ["Format": ["Archive"]]
    private static let cofferOAuth: [String: Set<String>] = [
        "Client": [
            "Endpoints", "Grants", "Leave", "Profiles", "REST", "Refresh", "SignIn", "Transport", "URL",
            "Use", "Wire",
        ],
        "Endpoints": ["Profiles", "Refresh", "SignIn", "Transport", "URL", "Wire"],
        "Grants": ["Profiles", "Wire"],
        "Leave": ["Endpoints", "Grants", "Profiles", "URL"],
        "Profiles": ["Transport", "URL"], "REST": ["Transport", "URL", "Wire"],
        "Refresh": ["Grants", "Profiles", "Wire"], "SignIn": ["Profiles", "URL"], "Transport": ["URL"],
        "Use": ["Endpoints", "Grants", "Profiles", "REST", "Refresh", "Transport", "URL", "Wire"],
        "Wire": ["Transport", "URL"],
    ]
    private static let allowed = [
        "Coffer": coffer, "CofferVault": cofferVault, "CofferCrypto": cofferCrypto,
        "CofferDatabase": cofferDatabase, "CofferOAuth": cofferOAuth,
        "CofferBackup": cofferBackup,
        "CofferCLI": ["Commands": ["Support"]], "CofferDatabaseCLI": ["Commands": ["Support"]],
        "CofferOAuthCLI": ["Commands": ["Support"]], "CofferPKCS11CLI": ["Commands": ["Token"]],
    ]

    @Test(
        "10: folders refer to each other as the list says, and every arrow of the list is there",
        arguments: allowed.keys.sorted())
    func arrows(_ target: String) throws {
        let graph = FolderGraph(of: "Sources/" + target, try Repository.swiftSources())
        let allowed = Self.allowed[target] ?? [:]
        report(graph.findings(outside: allowed))
        #expect(graph.arrows == allowed, "The list is not what the sources show.")
    }

    @Test("10: at most five files form a cycle", arguments: allowed.keys.sorted())
    func cycles(_ target: String) throws {
        let cycle = FolderGraph(of: "Sources/" + target, try Repository.swiftSources()).largestCycle
        #expect(cycle.count <= 5, "\(cycle)")
    }

    @Test("10: an arrow, its absence in a list, and a cycle are found; comments and strings are not")
    func finds() {
        let sources = [
            ("A/One.swift", "public final class One: Sendable { let two: Two }\nprivate struct Three {}"),
            ("B/Two.swift", "struct Two { let one = \"One\" }  // One\nlet four = Three()"),
            ("B/Four.swift", "enum Four { typealias Other = One }"),
        ].map { SwiftSource(path: "Sources/Sample/" + $0, text: $1) }
        let graph = FolderGraph(of: "Sources/Sample", sources)
        #expect(graph.arrows == ["A": ["B"], "B": ["A"]])
        #expect(graph.findings(outside: ["A": ["B"]]).map(\.path) == ["Sources/Sample/B/Four.swift"])
        #expect(graph.findings(outside: ["A": ["B"], "B": ["A"]]).isEmpty)
        #expect(graph.largestCycle.isEmpty)
        let back = SwiftSource(path: "Sources/Sample/B/Two.swift", text: "struct Two { let one: One }")
        let closed = FolderGraph(of: "Sources/Sample", sources.filter { $0.path != back.path } + [back])
        #expect(closed.largestCycle == ["Sources/Sample/A/One.swift", "Sources/Sample/B/Two.swift"])
    }
}
