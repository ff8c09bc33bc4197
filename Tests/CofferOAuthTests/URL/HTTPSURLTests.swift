@testable import CofferOAuth
import CofferBase
import Testing
import TestSupport

@Suite("URLs of servers")
struct HTTPSURLTests {
    @Test(
        "A URL that programs could read differently is refused",
        arguments: [
            "", "https://", "https:///path", "http://example.org", "HTTPS://example.org",
            "https:/example.org",
            "//example.org", "https://Example.org", "https://exämple.org", "https://user@example.org",
            "https://user:pw@example.org", "https://@example.org", "https://example.org#",
            "https://example.org/a#b", "https://example.org:", "https://example.org:0",
            "https://example.org:080",
            "https://example.org:65536", "https://example.org:443x", "https://example.org:+443",
            "https://example.org/a b", "https://example.org/a\nb", "https://example.org/\\a",
            "https://example.org\\@evil.org", "https://example.org/%zz", "https://example.org/%2",
            "https://example.org/a/../b", "https://example.org/.", "https://example.org/%2e%2E/b",
            "https://example.org/a%2f..%2fb", "https://example.org/a%5C..", "https://example.org/%00",
            "https://example.org/%0A", "https://example.org/\"", "https://example.org/<a>",
            "https://example..org", "https://.example.org", "https://example.org.", "https://-a.org",
            "https://a-.org", "https://a_b.org", "https://127.1", "https://2130706433", "https://0x7f.1",
            "https://example.0x1", "https://256.1.1.1", "https://01.1.1.1", "https://1.1.1.1.1",
            "https://[::1", "https://[]", "https://[:]", "https://[::1]x", "https://[1::2::3]",
            "https://[fe80::1%25eth0]", "https://[::FFFF]", "https://[1:2:3:4:5:6:7:8:9]",
            "https://[1:2:3:4:5:6:7]", "https://[:1::2]", "https://[::12345]", "https://[:::]",
            "https://[::1.2.3]", "https://example.org/[1]", "https://example.org?a=%",
            "https://" + String(repeating: "a", count: 64) + ".org",
            "https://example.org/" + String(repeating: "a", count: HTTPSURL.maxByteCount),
        ])
    func refused(_ text: String) {
        #expect(failure { _ = try HTTPSURL(text) } == .invalidInput, "\(text)")
    }

    @Test("The message about a URL never contains it, because it may contain a secret")
    func message() {
        do throws(CofferError) {
            _ = try HTTPSURL("https://example.org/?code=hunter2#x")
            Issue.record("It was accepted.")
        } catch {
            #expect(!error.message.contains("hunter2"))
        }
    }

    @Test("The parts of a URL")
    func parts() throws {
        let whole = try HTTPSURL("https://login.example.org:8443/a/b?c=d&e=%20")
        #expect(whole.host == "login.example.org" && whole.port == 8443 && whole.path == "/a/b")
        #expect(whole.query == "c=d&e=%20" && whole.origin == "https://login.example.org:8443")
        #expect(whole.description == "https://login.example.org:8443/a/b")
        let bare = try HTTPSURL("https://example.org")
        #expect(bare.port == 443 && bare.path.isEmpty && bare.query == nil)
        #expect(try HTTPSURL("https://example.org:443/").origin == bare.origin)
        #expect(try HTTPSURL("https://example.org?").query?.isEmpty == true)
        let address = try HTTPSURL("https://[2001:db8::1]:8443/")
        #expect(address.host == "2001:db8::1" && address.origin == "https://[2001:db8::1]:8443")
    }

    @Test(
        "Each accepted form of a host",
        arguments: [
            "localhost", "a.b", "1a.example", "xn--exmple-cua.org", "127.0.0.1", "0.0.0.0", "[::]", "[::1]",
            "[1:2:3:4:5:6:7:8]", "[1::]", "[1:2:3:4:5:6:7::]", "[::ffff:1.2.3.4]", "[1::8]",
        ])
    func hosts(_ host: String) throws {
        #expect(try HTTPSURL("https://\(host)/").text == "https://\(host)/")
    }

    @Test("Parameters are added behind those that are there, percent-encoded")
    func appending() throws {
        let parameters = [(name: "a b", value: "c&d=+é"), (name: "e", value: "")]
        let encoded = "a%20b=c%26d%3D%2B%C3%A9&e="
        for (before, after) in [
            ("https://a.org", "https://a.org?"), ("https://a.org/p?", "https://a.org/p?"),
            ("https://a.org/p?x=y", "https://a.org/p?x=y&"),
        ] {
            let url = try HTTPSURL(before).appending(query: parameters)
            #expect(url.text == after + encoded)
            #expect(try HTTPSURL(url.text) == url)
        }
        let url = try HTTPSURL("https://a.org/p")
        #expect(url.appending(query: []) == url)
    }

    @Test("URLs with different bytes are different")
    func equality() throws {
        #expect(try HTTPSURL("https://a.org") != HTTPSURL("https://a.org/"))
        #expect(try HTTPSURL("https://a.org") != HTTPSURL("https://a.org:443"))
    }
}

@Suite("Hosts that may receive tokens")
struct HostPatternTests {
    @Test(
        "A pattern of another form is refused",
        arguments: [
            "", "*", "*.", "*.org", "*.127.0.0.1", "*.[::1]", "a.*.org", "**.example.org", "https://a.org",
            "a.org/", "a.org/path", "a.org?x", "A.org", "user@a.org", "a.org:0", "*a.example.org",
            "*.*.a.org",
            "*.com:8443",
        ])
    func refused(_ text: String) {
        #expect(failure { _ = try HostPattern(text) } == .invalidInput, "\(text)")
    }

    @Test(
        "A pattern matches hosts by their bytes and their port",
        arguments: [
            ("api.example.org", "https://api.example.org/v1", true),
            ("api.example.org", "https://api.example.org:443/", true),
            ("api.example.org", "https://api.example.org:8443/", false),
            ("api.example.org:8443", "https://api.example.org:8443/", true),
            ("api.example.org", "https://api.example.org.evil.org/", false),
            ("api.example.org", "https://xapi.example.org/", false),
            ("*.example.org", "https://example.org/", false),
            ("*.example.org", "https://a.example.org/", true),
            ("*.example.org", "https://b.a.example.org/", true),
            ("*.example.org", "https://evilexample.org/", false),
            ("*.example.org", "https://a.example.org:8443/", false),
            ("*.example.org:8443", "https://a.example.org:8443/", true),
            ("[::1]:8443", "https://[::1]:8443/", true), ("127.0.0.1", "https://127.0.0.1/", true),
        ])
    func matches(_ pattern: String, _ url: String, _ isMatch: Bool) throws {
        #expect(try HostPattern(pattern).matches(HTTPSURL(url)) == isMatch)
    }
}
