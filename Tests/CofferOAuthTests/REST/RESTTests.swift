@testable import CofferOAuth
import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("REST requests")
struct RESTTests {
    private static func table() throws -> RESTResources {
        try RESTResources(instance: HTTPSURL("https://na1.salesforce.com"), version: "59.0")
    }
    private static let id = "001D000000INjVe"

    @Test(
        "A name that would change the path is refused",
        arguments: ["", "..", "Account/x", "Account?", "A%2e", "A B", "\u{C4}", "A\0", "A#"])
    func refusesNames(_ name: String) throws {
        let table = try Self.table()
        #expect(failure { _ = try table.describe(name) } == .invalidInput)
        #expect(failure { _ = try table.delete(name, id: Self.id) } == .invalidInput)
        #expect(failure { _ = try table.delete("Account", id: name) } == .invalidInput)
        #expect(failure { _ = try table.blob("Account", id: Self.id, field: name) } == .invalidInput)
        #expect(failure { _ = try table.retrieve("Account", id: Self.id, fields: [name]) } == .invalidInput)
    }

    @Test("A version, a server with a path and a value that is a dot segment are refused")
    func refusesServers() throws {
        let instance = try HTTPSURL("https://na1.salesforce.com")
        for version in ["", "59", "v59.0", "59.0/..", "59.", ".0", "5.9.0", "\u{0665}.0"] {
            #expect(failure { _ = try RESTResources(instance: instance, version: version) } == .invalidInput)
        }
        for url in ["https://na1.salesforce.com/x", "https://na1.salesforce.com/?a=b"] {
            let url = try HTTPSURL(url)
            #expect(failure { _ = try RESTResources(instance: url, version: "59.0") } == .invalidInput)
        }
        for value in ["", ".", "..", "a/../b"] {
            #expect(
                failure {
                    _ = try Self.table().upsert(
                        "Account", field: "ext__c", value: value, fields: SecretBytes.copying("{}"))
                } == .invalidInput)
        }
    }

    @Test("The table of resources")
    func paths() throws {
        let table = try Self.table()
        let base = "https://na1.salesforce.com/services/data/v59.0"
        let row = base + "/sobjects/Account/" + Self.id
        let expected: [(OAuthRequest, HTTPRequest.Method, String)] = [
            (try table.versions(), .get, "https://na1.salesforce.com/services/data/"),
            (try table.resources(), .get, base + "/"),
            (try table.describeGlobal(), .get, base + "/sobjects/"),
            (try table.information("Account"), .get, base + "/sobjects/Account/"),
            (try table.describe("Account"), .get, base + "/sobjects/Account/describe/"),
            (try table.create("Account", fields: .copying("{}")), .post, base + "/sobjects/Account/"),
            (try table.retrieve("Account", id: Self.id), .get, row),
            (
                try table.retrieve("Account", id: Self.id, fields: ["Name", "Owner.Name"]), .get,
                row + "?fields=Name%2COwner.Name"
            ),
            (try table.update("Account", id: Self.id, fields: .copying("{}")), .patch, row),
            (try table.delete("Account", id: Self.id), .delete, row),
            (
                try table.upsert("Account", field: "ext__c", value: "a/b c?\u{E9}", fields: .copying("{}")),
                .patch,
                base + "/sobjects/Account/ext__c/a%2Fb%20c%3F%C3%A9"
            ),
            (try table.blob("Account", id: Self.id, field: "Body"), .get, row + "/Body"),
            (
                try table.passwordInformation(.selfServiceUser, id: Self.id), .get,
                base + "/sobjects/SelfServiceUser/\(Self.id)/password"
            ),
            (
                try table.query("SELECT Name FROM A WHERE N='x&y'"), .get,
                base + "/query/?q=SELECT%20Name%20FROM%20A%20WHERE%20N%3D%27x%26y%27"
            ),
            (try table.search("FIND {a+b}"), .get, base + "/search/?s=FIND%20%7Ba%2Bb%7D"),
        ]
        for (request, method, url) in expected {
            #expect(request.method == method && request.url.text == url)
            #expect(
                request.headers.contains { $0.name == "Cache-Control" && $0.value == "no-cache, no-store" })
        }
    }

    @Test("A body can be sent again, and headers with tokens are not the caller's")
    func bodies() throws {
        let request = try Self.table().create("Account", fields: SecretBytes.copying("{\"Name\":\"x\"}"))
        #expect(request.bodyCount == 12)
        #expect(try text(request.copyBody()) == "{\"Name\":\"x\"}")
        #expect(try text(request.copyBody()) == "{\"Name\":\"x\"}")
        let url = try HTTPSURL("https://na1.salesforce.com/")
        #expect(failure { _ = try OAuthRequest(.get, url, body: SecretBytes.copying("")) } == .invalidInput)
        for name in ["Authorization", "authorization", "DPoP", "Cache-Control", "a:b", "", "a\r\nb"] {
            #expect(
                failure { _ = try OAuthRequest(.get, url, headers: [(name: name, value: "x")]) }
                    == .invalidInput)
        }
        #expect(
            failure { _ = try OAuthRequest(.get, url, headers: [(name: "a", value: "x\r\ny")]) }
                == .invalidInput)
    }
}
