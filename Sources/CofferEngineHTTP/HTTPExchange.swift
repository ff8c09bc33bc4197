package import CofferBase
import CofferEngine

/// One request to a server over a connection of its own, and the response.
package enum HTTPExchange {
    /// Sends a request and receives the response on the calling thread.
    ///
    /// - Parameters:
    ///   - plan: The public part of the request.
    ///   - fields: The request's fields: a name, a colon, a space and a value, each followed by a zero byte.
    ///   - body: The request's body; unused unless the plan has one.
    ///   - key: The client's private key in the form that the plan names; unused unless the plan has
    ///     certificates.
    ///   - proxyCredentials: A user name, a colon and a password, both percent-encoded, followed by a zero
    ///     byte; unused unless the plan has credentials.
    ///   - isCancelled: A closure that is called repeatedly; once it returns `true`, the exchange ends.
    /// - Returns: The bytes that came, even if the connection then broke.
    /// - Throws: `unsupported` in a build without the trait `OAuth`; `invalidInput` for a wrong certificate,
    ///   key or URL; `outOfMemory` if no memory is available.
    package static func run(
        _ plan: HTTPPlan, fields: Span<UInt8>, body: Span<UInt8>, key: Span<UInt8>,
        proxyCredentials: Span<UInt8>, isCancelled: () -> Bool
    ) throws(CofferError) -> HTTPOutcome {
        #if OAuth
            try HTTPLibrary.start()
            let transfer = try CurlTransfer(plan)
            try transfer.apply(fields: fields)
            return try transfer.perform(
                body: body, key: key, proxyCredentials: proxyCredentials, isCancelled: isCancelled)
        #else
            throw CofferError(.unsupported, "This build cannot exchange messages with servers.")
        #endif
    }
}
