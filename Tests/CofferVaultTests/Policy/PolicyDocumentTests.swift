import CofferBase
import CofferVault
import Testing
import TestSupport

@Suite("Policy documents")
struct PolicyDocumentTests {
    private static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    private func plist(_ content: String) -> PolicyDocument {
        PolicyDocument(
            reading: Array((Self.head + "<dict>\(content)</dict>\n</plist>\n").utf8), as: .propertyList)
    }

    private func json(_ text: String) -> PolicyDocument {
        PolicyDocument(reading: Array(text.utf8), as: .json)
    }

    @Test("The documented sample is read value for value")
    func sample() {
        let document = plist(
            """
            <key>AppServiceHosts</key><array><string>host1</string><string>host2</string></array>
            <key>AppServiceHostLabels</key>
            <array><string>Production</string><string>Sandbox</string></array>
            <key>RequireCertAuth</key><true/>
            <key>ClearClipboardOnBackground</key><false/>
            <key>OnlyShowAuthorizedHosts</key><false/>
            """)
        #expect(document.findings.isEmpty)
        #expect(
            document.values == [
                .appServiceHosts: .list(["https://host1", "https://host2"]),
                .appServiceHostLabels: .list(["Production", "Sandbox"]), .requireCertAuth: .flag(true),
                .clearClipboardOnBackground: .flag(false), .onlyShowAuthorizedHosts: .flag(false),
            ])
    }

    @Test("Every key is read from both formats, with aliases, commas and quotation marks")
    func everyKey() throws {
        let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
        let text = """
            {"RequireCertAuth": true, "ManagedAppCertAlias": "card",
            "AppServiceHosts": "a.org, https://b.org:443",
            "AppServiceHostLabels": "A,B",
            "OnlyShowAuthorizedHosts": true, "ClearClipboardOnBackground": true,
             "ManagedAppOAuthID": "id", "ManagedAppCallbackURL": "app:/done", "IDPAppURLScheme": "idp",
             "IDPAppPackageName": "org.example.idp", "PasscodeRequired": true, "PasscodeDenyCommon": true,
             "mobile_policy": {"pin_length": 6, "screen_lock": 10}, "PasscodeCharacters": "digits",
             "AttemptsBeforeWipe": 5, "AllowedKeyrings": ["file"],
             "AllowedUnlockMethods": "passcode,recoveryKey",
             "AllowedPlatforms": ["linux"], "AllowExport": false, "AllowFileExport": false,
             "AllowImport": false,
             "AllowRemovableMedia": false, "AllowRecoveryKey": false, "RequireDiskEncryption": true,
             "RequireHardwareKey": true, "RequireBackup": true, "BackupRecipients": ["\(recipient)"],
             "IPRanges": ["192.0.2.0/24", "2001:db8::/32", "192.0.2.7"], "TokenLifetimeSeconds": 900,
             "RefreshPolicy": "daily", "ContactDays": 30,
             "custom_attributes": {"CALL_HISTORY": "\\"SIMPLE\\"", "DISABLE_EXTERNAL_PASTE": "\\"TRUE\\"",
              "FORCE_EMAIL_CLIENT_TO": "\\"mail:///co?to=\\"", "SHOW_ONBOARDING_CAROUSEL": "\\"FALSE\\"",
              "SHOW_OPEN_IN": "\\"FALSE\\"", "SHOW_PRINT": "FALSE"}}
            """
        let document = json(text)
        #expect(document.findings.map(\.kind) == [.warning])
        #expect(document.findings.first?.key == "SHOW_PRINT")
        let values = document.values
        for key in PolicyKey.allCases where key != .passcodeMinimumLength && key != .inactivityMinutes {
            #expect(values[key] != nil, "\(key)")
        }
        #expect(values[.passcodeMinimumLength] == .number(6))
        #expect(values[.inactivityMinutes] == .number(10))
        #expect(values[.appServiceHosts] == .list(["https://a.org", "https://b.org"]))
        #expect(values[.showPrint] == .text("FALSE"))
        #expect(values[.forceEmailClientTo] == .text("mail:///co?to="))
        #expect(values[.allowedUnlockMethods] == .list(["passcode", "recoveryKey"]))
        #expect(values[.ipRanges] == .list(["192.0.2.0/24", "2001:db8:0:0:0:0:0:0/32"]))
        let converted = PolicyDocument(reading: try document.encoded(as: .propertyList), as: .propertyList)
        #expect(converted.values == values)
        let back = PolicyDocument(reading: try converted.encoded(as: .json), as: .json)
        #expect(back.values == values)
    }

    @Test("All findings come at once, with their lines and keys")
    func findings() {
        let document = json(
            """
            {
              "PasscodeRequired": "true",
              "PasscodeMinimumLength": 0,
              "passcodeRequire": true,
              "AppServiceHosts": ["http://a.org"],
              "custom_attributes": {
                "SHOW_PRINT": "\\"MAYBE\\""
              },
              "SHOW_OPEN_IN": "\\"FALSE\\"",
              "InactivityMinutes": 1.5
            }
            """)
        #expect(!document.isValid)
        #expect(document.values.isEmpty)
        #expect(document.findings.map(\.line) == [2, 3, 4, 5, 7, 9, 10])
        #expect(
            document.findings.map(\.kind) == [
                .error, .error, .unknownKey, .error, .error, .unknownKey, .error,
            ])
        #expect(document.findings[2].suggestion == "PasscodeRequired")
        #expect(document.findings[5].suggestion == "custom_attributes.SHOW_OPEN_IN")
        let list = plist(
            "\n<key>PasscodeRequired</key>\n<string>true</string>\n<key>A</key><integer>1</integer>")
        #expect(list.findings.map(\.line) == [5, 7])
    }

    @Test(
        "Values of a wrong type, out of range, or of another form are mistakes",
        arguments: [
            #"{"PasscodeRequired":1}"#, #"{"PasscodeRequired":null}"#, #"{"PasscodeRequired":"TRUE"}"#,
            #"{"AllowExport":0}"#, #"{"PasscodeMinimumLength":"6"}"#, #"{"PasscodeMinimumLength":129}"#,
            #"{"PasscodeMinimumLength":6.0}"#, #"{"PasscodeMinimumLength":99999999999999999999}"#,
            #"{"InactivityMinutes":-1}"#, #"{"InactivityMinutes":525601}"#, #"{"AttemptsBeforeWipe":0}"#,
            #"{"AttemptsBeforeWipe":11}"#, #"{"TokenLifetimeSeconds":899}"#, #"{"ContactDays":0}"#,
            #"{"PasscodeCharacters":"Digits"}"#, #"{"RefreshPolicy":"weekly"}"#, #"{"AllowedKeyrings":[]}"#,
            #"{"AllowedKeyrings":["files"]}"#, #"{"AllowedKeyrings":["file",7]}"#, #"{"AllowedKeyrings":""}"#,
            #"{"AllowedUnlockMethods":["pin"]}"#, #"{"AllowedPlatforms":"darwin"}"#,
            #"{"BackupRecipients":["age1abc"]}"#, #"{"IPRanges":["192.0.2.1/24"]}"#,
            #"{"IPRanges":["192.0.2.0/33"]}"#, #"{"IPRanges":["fe80::1%eth0"]}"#, #"{"IPRanges":["::/129"]}"#,
            #"{"AppServiceHosts":["a.org","https://a.org:443"]}"#, #"{"AppServiceHosts":["A.org"]}"#,
            #"{"AppServiceHosts":["a.org/x"]}"#, #"{"AppServiceHosts":"a.org,,b.org"}"#,
            #"{"AppServiceHosts":["\u00e4.org"]}"#, #"{"AppServiceHosts":true}"#,
            #"{"AppServiceHosts":["a.org"],"AppServiceHostLabels":["A","B"]}"#,
            #"{"AppServiceHostLabels":["A"]}"#, #"{"AppServiceHosts":["a.org"],"AppServiceHostLabels":[""]}"#,
            #"{"ManagedAppCertAlias":""}"#, #"{"ManagedAppCertAlias":"a\u0000b"}"#,
            #"{"custom_attributes":[]}"#, #"{"custom_attributes":{"SHOW_PRINT":true}}"#,
            #"{"custom_attributes":{"SHOW_PRINT":"\"true\""}}"#,
            #"{"custom_attributes":{"SHOW_PRINT":"\"\"TRUE\"\""}}"#,
            #"{"mobile_policy":{"pin_length":"6"}}"#, #"{"mobile_policy":6}"#,
        ])
    func mistakes(_ text: String) {
        let document = json(text)
        #expect(!document.isValid, "\(text)")
        #expect(document.values.isEmpty)
        #expect(document.findings.first?.line == 1)
    }

    @Test(
        "A text that is not strict JSON of one dictionary is refused",
        arguments: [
            "",
            "[]",
            "7",
            "{",
            "{}x",
            "{} {}",
            #"{"AllowExport":true,}"#,
            #"{"AllowExport":true "AllowImport":true}"#,
            #"{"AllowExport":true,"AllowExport":true}"#, "{AllowExport:true}", "{'AllowExport':true}",
            #"{"AllowExport":TRUE}"#, "\u{FEFF}{}", #"{"a":01}"#, "{\"a\":\"\u{01}\"}", "// a\n{}",
        ])
    func strictJSON(_ text: String) {
        let document = json(text)
        #expect(!document.isValid && document.findings.count == 1, "\(text)")
    }

    @Test("Depth, keys and size are limited, and both readers count the same")
    func limits() throws {
        let deep = String(repeating: "{\"a\":", count: 8) + "1" + String(repeating: "}", count: 8)
        #expect(json(deep).isValid)
        #expect(!json("{\"a\":\(deep)}").isValid)
        let deepList =
            String(repeating: "<dict><key>a</key>", count: 7) + "<true/>"
            + String(repeating: "</dict>", count: 7)
        #expect(plist("<key>a</key>\(deepList)").isValid)
        #expect(!plist("<key>a</key><dict><key>a</key>\(deepList)</dict>").isValid)
        let keys = { (count: Int) in "{" + (0..<count).map { "\"k\($0)\":1" }.joined(separator: ",") + "}" }
        #expect(json(keys(1024)).isValid)
        #expect(!json(keys(1025)).isValid)
        let size = PolicyDocument.maxByteCount
        for format in PolicyDocument.Format.allCases {
            let text = format == .json ? "{}" : Self.head + "<dict/></plist>"
            let padding = [UInt8](repeating: 0x0A, count: size - text.utf8.count)
            #expect(PolicyDocument(reading: Array(text.utf8) + padding, as: format).isValid)
            #expect(!PolicyDocument(reading: Array(text.utf8) + padding + [0x0A], as: format).isValid)
        }
    }

    @Test("A key is compared by its bytes")
    func bytes() {
        // The Kelvin sign equals K canonically.
        let document = json("{\"Allowed\u{212A}eyrings\":[\"file\"]}")
        #expect(document.values.isEmpty)
        #expect(document.findings.map(\.kind) == [.unknownKey])
    }
}
