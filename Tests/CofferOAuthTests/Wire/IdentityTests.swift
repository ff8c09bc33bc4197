@testable import CofferOAuth
import CofferBase
import Testing
import TestSupport

@Suite("Identity documents")
struct IdentityTests {
    private func identity(_ body: String) throws -> IdentityResponse {
        try IdentityResponse(body: Array(body.utf8).span)
    }

    @Test(
        "Only the two shapes are dates",
        arguments: [
            "", "2010-06-28", "2010-06-28T20:54:09Z", "2010-06-28T20:54:09.000", "2010-06-28T20:54:09.000z",
            "2010-06-28T20:54:09.000+00:00", "2010-06-28T20:54:09.000+0100", "2010-06-28T20:54:09.000-0000",
            "2010-06-28 20:54:09.000Z", "2010-06-28T20:54:09.00Z", "2010-06-28T20:54:09.0000Z",
            "2010-13-28T20:54:09.000Z", "2010-00-28T20:54:09.000Z", "2010-02-29T20:54:09.000Z",
            "1900-02-29T20:54:09.000Z", "2010-04-31T20:54:09.000Z", "2010-06-00T20:54:09.000Z",
            "2010-06-28T24:00:00.000Z", "2010-06-28T20:60:09.000Z", "2010-06-28T20:54:60.000Z",
            "0000-06-28T20:54:09.000Z", "2010-06-28T20:54:09.000ZZ", "2010-06-28T20:54:09,000Z",
            "\u{FF12}010-06-28T20:54:09.000Z",
        ])
    func refusesDates(_ date: String) {
        #expect(IdentityDate.milliseconds(date) == nil)
        #expect(failure { _ = try identity("{\"last_modified_date\":\"\(date)\"}") } == .serverMalformed)
    }

    @Test("Both shapes are the same time")
    func dates() {
        #expect(IdentityDate.milliseconds("1970-01-01T00:00:00.000Z") == 0)
        #expect(IdentityDate.milliseconds("2010-06-28T20:54:09.000Z") == 1_277_758_449_000)
        #expect(IdentityDate.milliseconds("2010-06-28T20:54:09.123+0000") == 1_277_758_449_123)
        #expect(IdentityDate.milliseconds("2000-02-29T23:59:59.999Z") == 951_868_799_999)
        #expect(IdentityDate.milliseconds("1969-12-31T23:59:59.999Z") == -1)
    }

    @Test(
        "A member of another type is refused",
        arguments: [
            "[]", "{\"active\":\"false\"}", "{\"user_id\":5}", "{\"status\":[]}", "{\"photos\":\"x\"}",
            "{\"urls\":{\"rest\":1}}", "{\"utcOffset\":\"-28800000\"}",
            "{\"mobile_policy\":{\"pin_length\":-1}}", "{\"mobile_policy\":{\"screen_lock\":\"soon\"}}",
            "{\"mobile_policy\":{\"screen_lock\":true}}", "{\"mobile_policy\":{\"pin_length\":4.5}}",
            "{\"custom_attributes\":{\"SHOW_PRINT\":true}}",
        ])
    func refuses(_ body: String) {
        #expect(failure { _ = try identity(body) } == .serverMalformed)
    }

    @Test("Every field is read, and every field is optional")
    func fields() throws {
        let empty = try identity("{}")
        #expect(empty.isActive == nil && empty.urls.isEmpty && empty.mobilePolicy == nil)
        let full = try identity(
            """
            {"id":"https://login.salesforce.com/id/00Dx/005x","asserted_user":true,"user_id":"005x",
            "username":"ada@example.org","organization_id":"00Dx","nick_name":"ada","display_name":"Ada",
            "email":"ada@example.org","status":{"created_date":"2010-05-08T05:17:51.000Z","body":"Hello"},
            "photos":{"picture":"http://na1.salesforce.com/p","thumbnail":"http://na1.salesforce.com/t"},
            "urls":{"rest":"http://na1.salesforce.com/services/data/v{version}/","feed-items":"x{y}",
            "custom_domain":"https://ada.my.salesforce.com"},"active":false,"user_type":"STANDARD",
            "language":"en_US","locale":"en_US","utcOffset":-28800000,
            "last_modified_date":"2010-06-28T20:54:09.000+0000",
            "mobile_policy":{"pin_length":4,"screen_lock":"10"},
            "custom_attributes":{"SHOW_PRINT":"\\"FALSE\\""},
            "custom_permissions":{"p":"true"},"is_app_installed":true}
            """)
        #expect(full.id == "https://login.salesforce.com/id/00Dx/005x" && full.isAssertedUser == true)
        #expect(full.userID == "005x" && full.organisationID == "00Dx" && full.username == "ada@example.org")
        #expect(full.nickName == "ada" && full.displayName == "Ada" && full.email == "ada@example.org")
        #expect(full.status?.created == 1_273_295_871_000 && full.status?.body == "Hello")
        #expect(full.photos.count == 2 && full.urls.count == 3 && full.isActive == false)
        #expect(full.userType == "STANDARD" && full.language == "en_US" && full.locale == "en_US")
        #expect(full.utcOffset == -28_800_000 && full.lastModified == 1_277_758_449_000)
        #expect(full.mobilePolicy?.pinLength == 4 && full.mobilePolicy?.screenLock == 10)
        #expect(full.customAttributes == ["SHOW_PRINT": "\"FALSE\""])
        #expect(full.customPermissions == ["p": "true"])
        let rest = try full.url("rest", version: "59.0")
        #expect(rest?.text == "https://na1.salesforce.com/services/data/v59.0/")
        #expect(try full.url("none", version: "59.0") == nil)
        #expect(failure { _ = try full.url("feed-items", version: "59.0") } == .hostRefused)
        #expect(failure { _ = try full.url("rest", version: "../59") } == .invalidInput)
        let status = try identity("{\"status\":{\"created_date\":null,\"body\":null}}").status
        #expect(status != nil && status?.created == nil && status?.body == nil)
    }

    @Test("The claims of an OpenID server are read; a member of the identity document goes first")
    func claims() throws {
        let claims = try identity(
            """
            {"sub":"u1","name":"Ada","preferred_username":"ada","nickname":"a","email":"a@example.org",
            "email_verified":false}
            """)
        #expect(claims.subject == "u1" && claims.displayName == "Ada" && claims.username == "ada")
        #expect(claims.nickName == "a" && claims.email == "a@example.org" && claims.isEmailVerified == false)
        let both = try identity(
            #"{"display_name":"Ada","name":"Other","username":"ada","preferred_username":"x"}"#)
        #expect(both.displayName == "Ada" && both.username == "ada" && both.subject == nil)
        #expect(try identity(#"{"email_verified":"true"}"#).isEmailVerified == true)
        for body in [#"{"sub":5}"#, #"{"email_verified":"yes"}"#, #"{"email_verified":1}"#] {
            #expect(failure { _ = try identity(body) } == .serverMalformed)
        }
    }

    @Test("A member's name in an error message has no escape sequence and is short")
    func names() throws {
        let name = "a\\u001b[31m\\u202e\\n" + String(repeating: "b", count: 900)
        let error = #expect(throws: CofferError.self) { _ = try identity("{\"urls\":{\"\(name)\":7}}") }
        let shown = "a[31m" + String(repeating: "b", count: 59)
        #expect(error?.message == "The member \(shown) of the server's answer is not a string.")
    }

    @Test("Each of the ten codes, with its own status only")
    func codes() throws {
        #expect(IdentityRefusal.allCases.count == 10)
        for code in IdentityRefusal.allCases {
            for status in [200, 302, 400, 403, 404, 406, 500] {
                let expected = status == code.status ? code : nil
                #expect(try IdentityRefusal(answer(status, code.rawValue)) == expected)
                #expect(try IdentityRefusal(answer(status, "\r\n" + code.rawValue + "\n")) == expected)
                #expect(try IdentityRefusal(answer(status, "{\"error\":\"\(code.rawValue)\"}")) == expected)
            }
            #expect(try IdentityRefusal(answer(code.status, code.rawValue + "x")) == nil)
            #expect(try IdentityRefusal(answer(code.status, code.rawValue, isComplete: false)) == nil)
            let document = "{\"error\":\"\(code.rawValue)\"}"
            #expect(try IdentityRefusal(answer(code.status, document, isComplete: false)) == code)
            #expect(try IdentityRefusal(answer(code.status, document + "{", isComplete: false)) == nil)
        }
        for body in ["", "inactive", "<p>Inactive</p>", "Inactive user", "Inactive\0"] {
            #expect(try IdentityRefusal(answer(404, body)) == nil)
        }
        #expect(IdentityRefusal.allCases.filter(\.isRevocation) == [.inactive])
        #expect(IdentityRefusal.allCases.filter(\.isAboutToken) == [.badToken])
    }
}
