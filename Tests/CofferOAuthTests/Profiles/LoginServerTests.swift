@testable import CofferOAuth
import CofferBase
import Testing
import TestSupport

@Suite("servers.xml")
struct LoginServerTests {
    private func code(_ text: String) -> CofferError.Code? {
        failure { _ = try LoginServer.servers(parsing: Array(text.utf8)) }
    }

    private func file(_ content: String) -> String { "<servers>\(content)</servers>" }

    @Test(
        "XML that could load, expand or hide something is refused",
        arguments: [
            "<!DOCTYPE servers><servers/>",
            "<!DOCTYPE a [<!ENTITY x \"y\">]><servers/>",
            "<!DOCTYPE a SYSTEM \"http://evil.example.org/a.dtd\"><servers/>",
            "<servers><!DOCTYPE a></servers>", "<servers><![CDATA[x]]></servers>",
            "<servers><?php x?></servers>", "<?xml-stylesheet href=\"a\"?><servers/>",
            "<?xml version=\"1.1\"?><servers/>", "<?xml version=\"1.0\" encoding=\"utf-16\"?><servers/>",
            "<?xml version=\"1.0\" standalone=\"yes\"?><servers/>", "<?xml encoding=\"utf-8\"?><servers/>",
            " <?xml version=\"1.0\"?><servers/>", "<servers><!-- a -- b --></servers>", "<servers><!-- a",
            "<servers xmlns=\"a\"/>", "<a:servers/>", "<servers/><servers/>", "<servers/>x", "x<servers/>",
            "<servers>text</servers>", "<servers>&amp;</servers>", "<servers>", "<servers></server>",
            "<servers", "<>", "<", "", "<servers/ >", "<servers></servers >x",
        ])
    func structure(_ text: String) {
        #expect(code(text) == .invalidInput, "\(text)")
    }

    @Test(
        "A server of another form is refused",
        arguments: [
            "<server/>", "<server name=\"a\"/>", "<server url=\"https://a.org\"/>",
            "<server name=\"a\" url=\"http://a.org\"/>", "<server name=\"a\" url=\"a.org\"/>",
            "<server name=\"a\" url=\"https://a.org#x\"/>", "<server name=\"a\" url=\"https://a.org?x\"/>",
            "<server name=\"a\" url=\"https://&lt;username&gt;.example.org\"/>",
            "<server name=\"\" url=\"https://a.org\"/>", "<server name=\"a\" url=\"https://a.org\" x=\"1\"/>",
            "<server name=\"a\" name=\"b\" url=\"https://a.org\"/>",
            "<server name=\"a\" url=\"https://a.org\">x</server>",
            "<server name=\"a\" url=\"https://a.org\"><a/></server>",
            "<host name=\"a\" url=\"https://a.org\"/>",
            "<server name=a url=\"https://a.org\"/>", "<server name=\"a\"url=\"https://a.org\"/>",
            "<server name=\"&nbsp;\" url=\"https://a.org\"/>",
            "<server name=\"&#65;\" url=\"https://a.org\"/>",
            "<server name=\"&a\" url=\"https://a.org\"/>", "<server name=\"a\nb\" url=\"https://a.org\"/>",
            "<server name=\"a<b\" url=\"https://a.org\"/>",
            "<server name=\"a\u{7F}\" url=\"https://a.org\"/>",
            "<server name=\"a\u{202E}b\" url=\"https://a.org\"/>",
            "<server name=\"a\u{2066}b\" url=\"https://a.org\"/>",
            "<server name=\"a\u{200F}\" url=\"https://a.org\"/>",
            "<server name=\"a\u{61C}\" url=\"https://a.org\"/>",
            "<server name=\"a\" url=\"https://a.org\"/><server name=\"a\" url=\"https://b.org\"/>",
            "<server name=\"a\" url=\"https://a.org\"/><server name=\"b\" url=\"https://a.org\"/>",
            "<Server name=\"a\" url=\"https://a.org\"/>",
        ])
    func servers(_ content: String) {
        #expect(code(file(content)) == .invalidInput, "\(content)")
    }

    @Test("Depth, numbers and size are limited, and bytes that are not text are refused")
    func limits() {
        let deep = String(repeating: "<a>", count: 9) + String(repeating: "</a>", count: 9)
        let many = file(String(repeating: "<server/>", count: 1024))
        let attributes = (0..<17).map { " a\($0)=\"\"" }.joined()
        let large = file(String(repeating: " ", count: StrictXML.Dialect.elements.maxByteCount))
        for text in [deep, many, "<servers\(attributes)/>", large, "<servers>\u{0}</servers>"] {
            #expect(code(text) == .invalidInput)
        }
        for bytes in [[0xFF], Array("<servers>".utf8) + [0xC0, 0x80], [0xFE, 0xFF, 0x00, 0x3C]] as [[UInt8]] {
            #expect(failure { _ = try LoginServer.servers(parsing: bytes) } == .invalidInput)
        }
    }

    @Test("The message names the line")
    func line() {
        do throws(CofferError) {
            _ = try LoginServer.servers(parsing: Array("<servers>\n\n  <server/>\n</servers>".utf8))
            Issue.record("It was accepted.")
        } catch {
            #expect(error.message.contains("line 3"), "\(error.message)")
        }
    }

    @Test("The form of the documents, with everything that may be around it")
    func accepted() throws {
        let text = """
            \u{FEFF}<?xml version="1.0" encoding="utf-8"?>
            <!-- Our servers. -->
            <servers>
                <server name="Production &amp; more" url="https://login.example.org"/>
                <!-- For tests. -->
                <server url='https://test.example.org:8443/path' name='Sand"box' ></server>
            </servers>

            """
        let servers = try LoginServer.servers(parsing: Array(text.utf8))
        #expect(servers.map(\.label) == ["Production & more", "Sand\"box"])
        #expect(
            servers.map(\.url.text) == ["https://login.example.org", "https://test.example.org:8443/path"])
        #expect(try LoginServer.servers(parsing: Array("<servers/>".utf8)).isEmpty)
        let windows = "<?xml version='1.0'?>\r\n<servers>\r\n</servers>\r\n"
        #expect(try LoginServer.servers(parsing: Array(windows.utf8)).isEmpty)
    }
}
