import CofferBase
import Testing

@Suite("Hosts with or without a port")
struct HostNameTests {
    @Test(
        "Names and addresses are accepted in one form",
        arguments: [
            "example.org", "a.example.org:8443", "localhost", "127.0.0.1", "127.0.0.1:1", "[::1]",
            "[2001:db8::1]:65535",
        ])
    func accepted(_ text: String) {
        #expect(HostName.isHostAndPort(text))
    }

    @Test(
        "Everything else is refused",
        arguments: [
            "", ":1", "a.example.org:", "a.example.org:0", "a.example.org:65536", "a.example.org:01",
            "a.example.org:1:1", "..example.org", ".example.org", "a..b", "evil.com/.example.org",
            "evil.com#.example.org", "evil.com?.example.org", "evil.com:80\\.example.org",
            "u@evil.com:1/a.example.org", "u@example.org", "Example.org", "exämple.org", "::1", "[::1",
            "[::1]x", "[::1]:", "[]", "[127.0.0.1]", "127.0.0.01", "1.2.3", "0x7f.1", "a b", "-a.org",
        ])
    func refused(_ text: String) {
        #expect(!HostName.isHostAndPort(text))
    }
}
