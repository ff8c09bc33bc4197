import CofferBase

/// The limits of an exchange with a server.
public struct HTTPLimits: Sendable, Hashable {
    /// The maximum size of the response's status lines and fields in bytes.
    public var headerBytes = 32 << 10
    /// The maximum number of the response's fields.
    public var headerFields = 64
    /// The maximum size of the response's body in bytes.
    public var body: Int
    /// The maximum time until the connection is established. ``exchange`` limits it, too.
    public var connect = Duration.seconds(10)
    /// The maximum time until the exchange is complete.
    public var exchange = Duration.seconds(30)
    /// The lowest rate, in bytes per ten seconds from the first byte of the response on; 0 for none. Only
    /// ``exchange`` limits the time that the server takes before that byte.
    public var lowestRate = 1 << 10

    /// Creates the usual limits: 32 KiB and 64 fields of header, ten seconds to connect, thirty seconds in
    /// all, and at least 1 KiB per ten seconds once the response has begun.
    ///
    /// - Parameter body: The maximum size of the response's body in bytes.
    public init(body: Int = 256 << 10) { self.body = body }

    /// The limits of a discovery document: 64 KiB.
    public static let discovery = HTTPLimits(body: 64 << 10)
    /// The limits of a token endpoint: 256 KiB.
    public static let token = HTTPLimits(body: 256 << 10)
    /// The limits of a key set: 256 KiB.
    public static let keys = HTTPLimits(body: 256 << 10)

    /// The limits of a resource that is kept in memory: 8 MiB.
    public static let resource = HTTPLimits(body: 8 << 20)

    /// Checks that the numbers can be kept.
    ///
    /// - Throws: `invalidInput` if a limit is not allowed.
    func check() throws(CofferError) {
        let isValid =
            (1...1 << 20).contains(headerBytes) && (1...1024).contains(headerFields)
            && (0...1 << 30).contains(body) && connect > .zero && exchange > .zero
            && connect <= .seconds(86_400) && exchange <= .seconds(86_400)
            && (0...1 << 30).contains(lowestRate)
        guard isValid else { throw CofferError(.invalidInput, "A limit of the exchange is not allowed.") }
    }
}
