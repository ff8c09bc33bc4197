import CofferBase

/// The services under which the library keeps what is its own, such as the keys of databases. Nobody else
/// puts anything there: a value of theirs would be taken for the library's.
enum ReservedServices {
    /// How they begin, compared byte for byte.
    static let prefix = "coffer."

    static func contains(_ service: String) -> Bool { service.utf8.starts(with: prefix.utf8) }

    static func check(_ id: TokenID) throws(CofferError) {
        guard contains(id.service) else { return }
        throw CofferError(
            .refused,
            "Services that begin with \"\(prefix)\" are the library's own: choose another name.")
    }
}
