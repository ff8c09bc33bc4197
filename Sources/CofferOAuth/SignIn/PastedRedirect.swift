package import CofferBase
package import CofferCrypto
import CofferEngine

/// The address of the page on which the browser ended, as the user pasted it on a machine without a browser.
package enum PastedRedirect {
    /// The maximum length of the pasted text in bytes.
    package static let maxByteCount = 8192

    /// Parses a pasted redirect.
    ///
    /// - Parameters:
    ///   - text: The whole address, or only its query. White space at both ends is ignored.
    ///   - request: The request that the redirect answers.
    /// - Returns: The answer.
    /// - Throws: `invalidInput` if the text is neither; `redirectRefused` if it is an address other than the
    ///   redirect URI or is invalid; `timedOut` if the request is too old; `stateMismatch`, `issuerMismatch`.
    package static func parse(
        _ text: borrowing SecretBytes, for request: AuthorizationRequest
    ) throws(CofferError) -> AuthorizationRedirect {
        try parse(text, for: request, now: Clock.sinceBoot)
    }

    static func parse(
        _ text: borrowing SecretBytes, for request: AuthorizationRequest, now: Duration
    ) throws(CofferError) -> AuthorizationRedirect {
        try request.checkTime(now: now)
        let bytes = text.guarded.span
        let query = try part(of: bytes, after: "?", request.contents.redirectURI)
        guard RedirectRequest.place(of: "#", in: bytes, query) == nil else {
            throw RedirectParameters.refused("it has a fragment")
        }
        let parameters = try RedirectParameters.parse(bytes.extracting(query))
        return try AuthorizationRedirect.check(parameters, for: request)
    }

    /// Returns the place of the parameters in pasted text.
    ///
    /// - Parameters:
    ///   - bytes: The whole address, or only the parameters.
    ///   - mark: The character before the parameters.
    ///   - uri: The redirect URI, which must match byte for byte.
    /// - Returns: The range of the parameters.
    /// - Throws: `invalidInput` if the text contains no parameters; `redirectRefused` for another address.
    static func part(
        of bytes: Span<UInt8>, after mark: Unicode.Scalar, _ uri: String
    ) throws(CofferError) -> Range<Int> {
        guard bytes.count <= maxByteCount else {
            throw CofferError(
                .invalidInput, "The pasted text must be at most \(maxByteCount) bytes long.")
        }
        let text = trimmed(bytes)
        let start = text.lowerBound + uri.utf8.count
        if start < text.upperBound, RedirectRequest.equal(bytes, text.lowerBound..<start, uri),
            bytes[start] == UInt8(ascii: mark)
        {
            return start + 1..<text.upperBound
        }
        guard let equals = RedirectRequest.place(of: "=", in: bytes, text) else {
            throw CofferError(
                .invalidInput,
                "Start the sign-in again and paste the whole address of the page on which the browser ends, "
                    + "not only the code.")
        }
        // A colon before the first equals sign belongs to the scheme of an address.
        guard RedirectRequest.place(of: ":", in: bytes, text.lowerBound..<equals) == nil else {
            throw RedirectParameters.refused("its address is not the redirect URI")
        }
        let hasMark = bytes[text.lowerBound] == UInt8(ascii: mark)
        return text.lowerBound + (hasMark ? 1 : 0)..<text.upperBound
    }

    private static func trimmed(_ bytes: Span<UInt8>) -> Range<Int> {
        var (start, end) = (0, bytes.count)
        while start < end, isSpace(bytes[start]) { start += 1 }
        while end > start, isSpace(bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte)
    }
}
