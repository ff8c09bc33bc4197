import CofferOAuth

/// The fields of an identity document that are printed.
enum IdentityText {
    /// Returns the names and values of the fields that the document has.
    static func fields(of identity: IdentityResponse) -> [(String, String)] {
        let texts: [(String, String?)] = [
            ("subject", identity.subject), ("id", identity.id), ("userID", identity.userID),
            ("organisationID", identity.organisationID),
            ("username", identity.username), ("displayName", identity.displayName),
            ("nickName", identity.nickName), ("email", identity.email),
            ("emailVerified", identity.isEmailVerified.map { $0 ? "true" : "false" }),
            ("userType", identity.userType),
            ("language", identity.language), ("locale", identity.locale),
            ("active", identity.isActive.map { $0 ? "true" : "false" }),
            ("pinLength", identity.mobilePolicy?.pinLength.map { String($0) }),
            ("screenLock", identity.mobilePolicy?.screenLock.map { String($0) }),
        ]
        return texts.compactMap { name, value in value.map { (name, $0) } }
    }
}
