package import CofferBase

/// The services that are reserved for the library's own secrets, such as database keys. Callers cannot store
/// tokens under these services, because the library would mistake such a token for one of its own.
package enum ReservedServices {
    /// The prefix of every reserved service, compared byte by byte.
    static let prefix = "coffer."

    static func contains(_ service: String) -> Bool { service.utf8.starts(with: prefix.utf8) }

    /// Throws `refused` if the token's service is reserved.
    package static func check(_ id: TokenID) throws(CofferError) {
        guard contains(id.service) else { return }
        throw CofferError(
            .refused,
            "Service names that begin with \"\(prefix)\" are reserved for the library. Choose another "
                + "service name.")
    }
}
