public import CofferBase

/// The document of an identity URL, or the claims about the user that an OpenID server returns. Every field
/// is optional, because servers leave out different ones.
public struct IdentityResponse: Sendable, Hashable {
    /// A user's status message.
    public struct Status: Sendable, Hashable {
        /// The time of the message, in milliseconds since 1970.
        public let created: Int64?
        /// The message.
        public let body: String?
    }

    /// The connected app's demands on the device.
    public struct MobilePolicy: Sendable, Hashable {
        /// The minimum length of the passcode.
        public let pinLength: Int?
        /// The minutes without use after which the device must lock.
        public let screenLock: Int?
    }

    /// The identity URL, as the server wrote it.
    public let id: String?
    /// Whether the access token was issued for this identity.
    public let isAssertedUser: Bool?
    /// The user's id.
    public let userID: String?
    /// The organisation's id.
    public let organisationID: String?
    /// The user's id at an OpenID server (`sub`).
    public let subject: String?
    /// The user's name for signing in (`username`, or `preferred_username` of OpenID).
    public let username: String?
    /// The user's nickname (`nick_name`, or `nickname` of OpenID).
    public let nickName: String?
    /// The user's name for people (`display_name`, or `name` of OpenID).
    public let displayName: String?
    /// The user's e-mail address.
    public let email: String?
    /// Whether an OpenID server says that the e-mail address is the user's.
    public let isEmailVerified: Bool?
    /// The user's status message.
    public let status: Status?
    /// The URLs of the user's photos by name (`picture`, `thumbnail`), as the server wrote them.
    public let photos: [String: String]
    /// The URLs of services by name, such as `rest` or `custom_domain`, as the server wrote them. See
    /// ``url(_:version:)``.
    public let urls: [String: String]
    /// Whether the user is active. `false` counts as a revocation.
    public let isActive: Bool?
    /// The kind of user, such as `STANDARD`.
    public let userType: String?
    /// The user's language, such as `en_US`.
    public let language: String?
    /// The user's locale, such as `en_US`.
    public let locale: String?
    /// The difference between the user's time zone and UTC, in milliseconds.
    public let utcOffset: Int64?
    /// The time of the last change, in milliseconds since 1970.
    public let lastModified: Int64?
    /// The connected app's demands on the device.
    public let mobilePolicy: MobilePolicy?
    /// The connected app's attributes; the values are as the server wrote them, with their quotation marks.
    public let customAttributes: [String: String]
    /// The user's custom permissions; the values are as the server wrote them.
    public let customPermissions: [String: String]

    /// Reads a document in JSON.
    ///
    /// - Parameter body: The bytes of the document.
    /// - Throws: `serverMalformed` if they are not a JSON object, or if a field has another type than the
    ///   service documents, such as a date of a third shape.
    public init(body: Span<UInt8>) throws(CofferError) {
        let object = try GuardedJSON(copying: body).root
        id = try object.text("id")
        isAssertedUser = try object.bool("asserted_user")
        userID = try object.text("user_id")
        organisationID = try object.text("organization_id")
        subject = try object.text("sub")
        username = try Self.text("username", or: "preferred_username", in: object)
        nickName = try Self.text("nick_name", or: "nickname", in: object)
        displayName = try Self.text("display_name", or: "name", in: object)
        email = try object.text("email")
        isEmailVerified = try Self.claim("email_verified", in: object)
        photos = try Self.texts("photos", in: object)
        urls = try Self.texts("urls", in: object)
        isActive = try object.bool("active")
        userType = try object.text("user_type")
        language = try object.text("language")
        locale = try object.text("locale")
        utcOffset = try object.integer("utcOffset")
        lastModified = try Self.date("last_modified_date", in: object)
        customAttributes = try Self.texts("custom_attributes", in: object)
        customPermissions = try Self.texts("custom_permissions", in: object)
        if let status = try object.object("status") {
            self.status = Status(
                created: try Self.date("created_date", in: status), body: try status.text("body"))
        } else {
            status = nil
        }
        if let policy = try object.object("mobile_policy") {
            mobilePolicy = MobilePolicy(
                pinLength: try Self.demand("pin_length", in: policy),
                screenLock: try Self.demand("screen_lock", in: policy))
        } else {
            mobilePolicy = nil
        }
    }

    /// Returns the URL of a service.
    ///
    /// The service's own samples are `http` URLs; such a URL is used with `https` only, because the access
    /// token goes there.
    ///
    /// - Parameters:
    ///   - name: The name, such as `rest`.
    ///   - version: The version that replaces `{version}`, such as `59.0`.
    /// - Returns: The URL; `nil` if the document has none of that name.
    /// - Throws: `hostRefused` if the text is not a URL that can be used; `invalidInput` if `version` is not
    ///   digits with a point between them.
    public func url(_ name: String, version: String) throws(CofferError) -> HTTPSURL? {
        guard WireText.isVersion(version) else {
            throw CofferError(.invalidInput, "The version must be digits with a point between them.")
        }
        guard let text = urls.first(where: { $0.key.hasSameBytes(as: name) })?.value else { return nil }
        var bytes = Array(text.utf8)
        if bytes.starts(with: "http://".utf8) { bytes.replaceSubrange(0..<4, with: "https".utf8) }
        let mark = Array("{version}".utf8)
        if let start = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) {
            bytes.replaceSubrange(start..<start + mark.count, with: version.utf8)
        }
        do throws(CofferError) {
            return try HTTPSURL(String(decoding: bytes, as: UTF8.self))
        } catch {
            throw CofferError(.hostRefused, "The identity document contains a URL that cannot be used.")
        }
    }
}

extension IdentityResponse {
    /// The member of the first name that the object has.
    private static func text(
        _ name: String, or other: String, in object: GuardedJSON.Object
    ) throws(CofferError) -> String? {
        if let text = try object.text(name) { return text }
        return try object.text(other)
    }

    /// A claim that is true or false, which some servers write in quotation marks.
    private static func claim(_ name: String, in object: GuardedJSON.Object) throws(CofferError) -> Bool? {
        do throws(CofferError) {
            return try object.bool(name)
        } catch {
            guard error.code == .serverMalformed, let text = try object.text(name, limit: 5),
                text.hasSameBytes(as: "true") || text.hasSameBytes(as: "false")
            else { throw error }
            return text.hasSameBytes(as: "true")
        }
    }

    private static func date(
        _ name: String, in object: GuardedJSON.Object
    ) throws(CofferError) -> Int64? {
        guard let text = try object.text(name, limit: 64) else { return nil }
        guard let date = IdentityDate.milliseconds(text) else {
            throw CofferError(.serverMalformed, "The member \(name) of the server's answer is not a date.")
        }
        return date
    }

    /// A number of the policy, which servers write as a number or as digits in quotation marks. A demand that
    /// cannot be understood is refused, because passing over it would weaken the policy.
    private static func demand(_ name: String, in object: GuardedJSON.Object) throws(CofferError) -> Int? {
        guard object.has(name) else { return nil }
        var text = object.number(name)
        if text == nil { text = try object.text(name, limit: 16) }
        guard let text, let number = WireText.number(text.utf8), number <= 1_000_000 else {
            throw CofferError(.serverMalformed, "The member \(name) of the server's answer is not a number.")
        }
        return Int(number)
    }

    /// The string members of an object member, by their names.
    private static func texts(
        _ name: String, in object: GuardedJSON.Object
    ) throws(CofferError) -> [String: String] {
        guard let members = try object.object(name) else { return [:] }
        var texts: [String: String] = [:]
        for name in members.names {
            guard let text = try members.text(name) else { continue }
            guard texts.updateValue(text, forKey: name) == nil else {
                throw CofferError(.serverMalformed, "The server's answer has two members of the same name.")
            }
        }
        return texts
    }
}
