@testable import CofferOAuth
import CofferBase
import CofferEngine
import SystemPackage
import Testing
import TestSupport

@Suite("The administrator's OAuth configuration")
struct ManagedConfigurationTests {
    private func parse(_ text: String) throws -> ManagedConfiguration {
        try ManagedConfiguration(parsing: Array(text.utf8))
    }

    @Test(
        "A document with a wrong type, count or host is refused as a whole",
        arguments: [
            "", "[]", "{", #"{"AppServiceHosts":["a.org"],}"#,
            #"{"AppServiceHosts":["a.org"],"AppServiceHosts":["b.org"]}"#, #"{"AppServiceHosts":7}"#,
            #"{"AppServiceHosts":["a.org",7]}"#, #"{"AppServiceHosts":["http://a.org"]}"#,
            #"{"AppServiceHosts":["A.org"]}"#, #"{"AppServiceHosts":["a.org/path"]}"#,
            #"{"AppServiceHosts":[""]}"#, #"{"AppServiceHosts":"a.org,,b.org"}"#, #"{"AppServiceHosts":""}"#,
            #"{"AppServiceHosts":["a.org","https://a.org:443"]}"#,
            #"{"AppServiceHosts":["a.org"],"AppServiceHostLabels":[]}"#,
            #"{"AppServiceHosts":["a.org"],"AppServiceHostLabels":["A","B"]}"#,
            #"{"AppServiceHosts":"a.org,b.org","AppServiceHostLabels":"A"}"#,
            #"{"AppServiceHostLabels":["A"]}"#, #"{"AppServiceHosts":["a.org"],"AppServiceHostLabels":[""]}"#,
            #"{"AppServiceHosts":["a.org"],"AppServiceHostLabels":["a\u0007"]}"#,
            #"{"OnlyShowAuthorizedHosts":"true"}"#, #"{"OnlyShowAuthorizedHosts":1}"#,
            #"{"RequireCertAuth":null}"#, #"{"ManagedAppCertAlias":true}"#, #"{"ManagedAppCertAlias":""}"#,
            #"{"RefreshTokenPolicy":"weekly"}"#, #"{"RefreshTokenPolicy":"hourly "}"#,
            #"{"RefreshTokenPolicy":"idle"}"#, #"{"RefreshTokenPolicy":"idle:59"}"#,
            #"{"RefreshTokenPolicy":"idle:+60"}"#,
            #"{"RefreshTokenPolicy":"absolute:99999999999999999999"}"#,
            #"{"RefreshTokenPolicy":3600}"#, #"{"Later":1}"#,
            #"{"OnlyShowAuthorisedHosts":true}"#, #"{"onlyShowAuthorizedHosts":true}"#,
        ])
    func refused(_ text: String) {
        #expect(failure { _ = try parse(text) } == .refused, "\(text)")
    }

    @Test("Hosts, labels and flags as the documents have them; the first host is the default")
    func parsed() throws {
        let arrays = try parse(
            #"""
            {"AppServiceHosts":["login.example.org","https://test.example.org:8443"],
             "AppServiceHostLabels":["Production","Sandbox"],"RequireCertAuth":true,
             "ManagedAppCertAlias":"work","OnlyShowAuthorizedHosts":true}
            """#)
        #expect(arrays.servers.map(\.label) == ["Production", "Sandbox"])
        #expect(
            arrays.servers.map(\.url.text) == ["https://login.example.org", "https://test.example.org:8443"])
        #expect(arrays.defaultServer?.label == "Production" && arrays.allowsOnlyServers)
        #expect(arrays.requiresCertificate && arrays.certificateAlias == "work")
        let texts = try parse(#"{"AppServiceHosts":"a.org, https://b.org","AppServiceHostLabels":"A, B"}"#)
        #expect(texts.servers.map(\.label) == ["A", "B"] && texts.servers[1].url.host == "b.org")
        let bare = try parse(#"{"AppServiceHosts":["a.org"]}"#)
        #expect(bare.servers.map(\.label) == ["a.org"] && !bare.allowsOnlyServers)
        #expect(try parse("{}").defaultServer == nil)
    }

    @Test(
        "The end of sessions is one of the policies of profiles",
        arguments: [
            ("untilRevoked", GrantPolicy.untilRevoked), ("onceOnly", .onceOnly), ("eachStart", .eachStart),
            ("hourly", .hourly), ("daily", .daily), ("monthly", .monthly),
            ("idle:60", .idle(.seconds(60))), ("absolute:315360000", .absolute(.seconds(315_360_000))),
        ])
    func policies(_ text: String, _ policy: GrantPolicy) throws {
        #expect(try parse("{\"RefreshTokenPolicy\":\"\(text)\"}").policy == policy)
        #expect(try parse("{}").policy == .untilRevoked)
    }

    @Test("Only authorised servers, and with none of them no server at all")
    func servers() throws {
        let profile = try SampleProfile.plain()
        let listed = #"{"AppServiceHosts":["login.example.org"],"OnlyShowAuthorizedHosts":true}"#
        try parse(listed).check(profile)
        let other = #"{"AppServiceHosts":["login.example.org:8443"],"OnlyShowAuthorizedHosts":true}"#
        for text in [other, #"{"OnlyShowAuthorizedHosts":true}"#] {
            #expect(failure { try parse(text).check(profile) } == .hostRefused)
        }
        try parse(#"{"AppServiceHosts":["other.example.org"]}"#).check(profile)
        #expect(failure { try parse(#"{"RequireCertAuth":true}"#).check(profile) } == .refused)
        var withCertificate = profile
        withCertificate.authentication = .mutualTLS
        try parse(#"{"RequireCertAuth":true}"#).check(withCertificate)
    }

    @Test("Every endpoint must be on an authorised server, and so must its alias for a certificate")
    func endpoints() throws {
        let hosts = #""AppServiceHosts":["login.example.org"]"#
        let rules = try parse("{\(hosts),\"OnlyShowAuthorizedHosts\":true}")
        var profile = try SampleProfile.plain()
        profile.endpoints = PinnedEndpoints([.token: try HTTPSURL("https://login.example.org/token")])
        try rules.check(profile)
        for endpoint in ServerEndpoint.allCases {
            var moved = profile
            moved.endpoints?.urls[endpoint] = try HTTPSURL("https://evil.example.org/token")
            #expect(failure { try rules.check(moved) } == .hostRefused, "\(endpoint.rawValue)")
            try parse("{\(hosts)}").check(moved)
            var aliased = profile
            aliased.endpoints?.mutualTLSAliases[endpoint] = try HTTPSURL("https://login.example.org:8443/")
            #expect(failure { try rules.check(aliased) } == .hostRefused, "\(endpoint.rawValue)")
        }
    }

    private func read(
        _ root: borrowing ScratchDirectory, owner: UInt32? = nil
    ) throws -> ManagedConfiguration? {
        let own = try root.descriptor.status().owner
        return try ManagedConfiguration.read(
            below: root.descriptor, directories: ["etc", "coffer"], file: "oauth.json", owner: owner ?? own)
    }

    /// A directory with a configuration that everybody may trust.
    private func tree() throws -> ScratchDirectory {
        let root = try ScratchDirectory.make()
        try root.descriptor.setPermissions(0o755)
        try root.descriptor.makeDirectory("etc")
        let etc = try root.descriptor.open("etc", [.read, .directory])
        try etc.makeDirectory("coffer")
        let folder = try etc.open("coffer", [.read, .directory])
        let file = try folder.open("oauth.json", [.readWrite, .create])
        try file.write(Array("{}".utf8).span, at: 0)
        return root
    }

    @Test("A file or directory that others own or can write to, a link and a pipe are refused")
    func untrusted() throws {
        for path in ["etc/coffer/oauth.json", "etc/coffer", "etc"] {
            for bits in [0o666, 0o662, 0o620] as [UInt32] {
                let root = try tree()
                let mode = path.utf8.hasSuffix(".json") ? Descriptor.Mode.read : [.read, .directory]
                let entry = try Descriptor.open(root.path.appending(path), mode)
                try entry.setPermissions(bits | 0o500)
                #expect(failure { _ = try read(root) } == .refused, "\(path) \(bits)")
            }
        }
        let root = try tree()
        #expect(failure { _ = try read(root, owner: 4_000_000_000) } == .refused)
        let folder = try Descriptor.open(root.path.appending("etc/coffer"), [.read, .directory])
        _ = try folder.remove("oauth.json")
        try folder.makeDirectory("oauth.json")
        #expect(failure { _ = try read(root) } == .refused)
        _ = try folder.removeDirectory("oauth.json")
        try root.write("elsewhere", Array("{}".utf8))
        try root.link("etc/coffer/oauth.json", to: root.path(of: "elsewhere"))
        #expect(failure { _ = try read(root) } != nil)
    }

    @Test("A trusted file is read, and without one there is no configuration")
    func trusted() throws {
        let root = try tree()
        #expect(try read(root)?.servers.isEmpty == true)
        let folder = try Descriptor.open(root.path.appending("etc/coffer"), [.read, .directory])
        let file = try folder.open("oauth.json", [.readWrite])
        try file.write(Array("{]".utf8).span, at: 0)
        #expect(failure { _ = try read(root) } == .refused)
        _ = try folder.remove("oauth.json")
        #expect(try read(root) == nil)
        let empty = try ScratchDirectory.make()
        try empty.descriptor.setPermissions(0o755)
        #expect(try read(empty) == nil)
    }
}
