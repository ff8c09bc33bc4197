import CofferBase
import CofferVault
import Testing
import TestSupport

@Suite("Property lists")
struct PropertyListReaderTests {
    private func read(_ text: String) -> PolicyDocument {
        PolicyDocument(reading: Array(text.utf8), as: .propertyList)
    }

    @Test(
        "What could load, expand or hide something is refused",
        arguments: [
            "", "<dict/>", "<plist/>", "<plist></plist>", "<plist><dict/><dict/></plist>",
            "<plist version=\"2.0\"><dict/></plist>",
            "<plist a=\"b\"><dict/></plist>",
            "<plist>x<dict/></plist>",
            "<plist><dict/></plist>x",
            "<plist><dict/></plist><plist><dict/></plist>",
            "<plist><array/></plist>",
            "<!DOCTYPE plist><plist><dict/></plist>",
            "<!DOCTYPE plist SYSTEM \"file:///etc/passwd\"><plist><dict/></plist>",
            "<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><dict/></plist>",
            """
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"
            "http://www.apple.com/DTDs/PropertyList-1.0.dtd" [
            <!ENTITY a "b">]><plist><dict/></plist>
            """,
            "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"file:///x.dtd\"><plist><dict/></plist>",
            "<plist><dict><![CDATA[x]]></dict></plist>", "<plist><dict><?x y?></dict></plist>",
            "<plist><dict><key>a</key></dict></plist>", "<plist><dict><true/></dict></plist>",
            "<plist><dict><key>a</key><true/><true/></dict></plist>",
            "<plist><dict><key>a</key><true/><key>a</key><false/></dict></plist>",
            "<plist><dict><key>a</key>x<true/></dict></plist>",
            "<plist><dict><key>a</key><true>yes</true></dict></plist>",
            "<plist><dict><key>a</key><true/ ></dict></plist>",
            "<plist><dict><key>a</key><yes/></dict></plist>",
            "<plist><dict><key>a</key><real>1</real></dict></plist>",
            "<plist><dict><key>a</key><date>2024-01-01T00:00:00Z</date></dict></plist>",
            "<plist><dict><key>a</key><data>AA==</data></dict></plist>",
            "<plist><dict><key>a</key><integer></integer></dict></plist>",
            "<plist><dict><key>a</key><integer>+1</integer></dict></plist>",
            "<plist><dict><key>a</key><integer> 1</integer></dict></plist>",
            "<plist><dict><key>a</key><integer>01</integer></dict></plist>",
            "<plist><dict><key>a</key><integer>0x10</integer></dict></plist>",
            "<plist><dict><key>a</key><integer>9223372036854775808</integer></dict></plist>",
            "<plist><dict><key>a</key><string>&a;</string></dict></plist>",
            "<plist><dict><key>a</key><string>&#65;</string></dict></plist>",
            "<plist><dict><key>a</key><string>]]></string></dict></plist>",
            "<plist><dict><key>a</key><string>x<!-- y --></string></dict></plist>",
            "<plist><dict><key>a</key><string>x<true/></string></dict></plist>",
            "<plist><dict><key>a</key><string b=\"c\">x</string></dict></plist>",
            "<plist><dict><key>a</key><string>x</dict></plist>", "<plist><dict><key>a</key><string>",
            "<plist><dict><key>a<key>b</key></key><true/></dict></plist>",
            "<plist><dict><key>\u{0}</key><true/></dict></plist>", "{ a = b; }", "bplist00", "a",
            "<?xml version=\"1.0\" encoding=\"UTF-16\"?><plist><dict/></plist>",
        ])
    func refused(_ text: String) {
        let document = read(text)
        #expect(!document.isValid && document.findings.count == 1, "\(text)")
    }

    @Test("Comments, entities, empty texts and negative numbers are read")
    func accepted() throws {
        let document = read(
            """
            \u{FEFF}<?xml version="1.0" encoding="utf-8"?>
            <!-- a --><plist><!-- b --><dict><!-- c -->
            <key>a&lt;&amp;&gt;&quot;&apos;</key><!-- d --><string></string><key></key><string/>
            <key>n</key><integer>-9223372036854775808</integer><key>l</key><array><true/> <!-- e --></array>
            </dict></plist><!-- f -->

            """)
        #expect(document.isValid)
        #expect(document.findings.map(\.kind) == [.unknownKey, .unknownKey, .unknownKey, .unknownKey])
        #expect(document.findings.map(\.key) == ["a<&>\"'", "", "n", "l"])
        let json = String(decoding: try document.encoded(as: .json), as: UTF8.self)
        #expect(json == "{\"\":\"\",\"a<&>\\\"'\":\"\",\"l\":[true],\"n\":-9223372036854775808}\n")
    }

    @Test("A damaged byte never makes a policy that says more than it did")
    func damage() {
        let text = Array(
            ("<plist><dict><key>AllowExport</key><false/><key>ContactDays</key>"
                + "<integer>30</integer></dict></plist>").utf8)
        let good = PolicyDocument(reading: text, as: .propertyList)
        #expect(good.values.count == 2)
        for length in text.indices {
            #expect(!PolicyDocument(reading: Array(text[..<length]), as: .propertyList).isValid)
        }
        for index in text.indices {
            for bit in 0..<8 {
                var changed = text
                changed[index] ^= 1 << bit
                let document = PolicyDocument(reading: changed, as: .propertyList)
                #expect(document.values.count <= 2)
                #expect(document.isValid || document.values.isEmpty)
            }
        }
    }
}
