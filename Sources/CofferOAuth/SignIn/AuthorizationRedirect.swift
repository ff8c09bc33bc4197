public import CofferBase
public import CofferCrypto
import CofferEngine

/// The server's answer to an ``AuthorizationRequest``, as the browser delivered it. Its `state` and its
/// issuer have been checked.
public final class AuthorizationRedirect: Sendable {
    /// The maximum length of an authorization code in bytes.
    static let maxCodeByteCount = 4096

    /// The server's refusal.
    public struct Refusal: Sendable, Equatable {
        /// The server's code, such as `access_denied`: at most 64 printable ASCII characters.
        public let code: String
        /// The server's description, at most 64 printable ASCII characters.
        public let description: String?
    }

    /// The issuer that the answer names, or `nil` if it names none.
    public let issuer: String?
    /// The refusal, or `nil` if the answer contains an authorization code.
    public let refusal: Refusal?
    private let secretCode: SecretBytes?

    private init(issuer: String?, refusal: Refusal?, code: consuming SecretBytes?) {
        self.issuer = issuer
        self.refusal = refusal
        secretCode = code
    }

    /// Returns the authorization code, in guarded memory.
    ///
    /// - Returns: A copy of the code.
    /// - Throws: `serverRefused`, with the server's code, if the server refused the request.
    public func code() throws(CofferError) -> SecretBytes {
        switch secretCode {
        case .some(let code): return SecretBytes(try GuardedBytes.copying(code.guarded.span))
        case .none: throw refusalError
        }
    }

    private var refusalError: CofferError {
        let details = refusal?.description.map { " (\($0))" } ?? ""
        return CofferError(
            .serverRefused, "The server refused the sign-in: \(refusal?.code ?? "")\(details).",
            serverCode: refusal?.code)
    }

    /// Checks a redirect's parameters against the request.
    ///
    /// - Parameters:
    ///   - parameters: The parameters.
    ///   - request: The request.
    /// - Returns: The answer.
    /// - Throws: `stateMismatch` if the answer does not belong to the request; `issuerMismatch` if another
    ///   issuer answers, or none where one is required; `redirectRefused` if the answer contains neither or
    ///   both of a code and an error, or an invalid one.
    static func check(
        _ parameters: borrowing RedirectParameters, for request: AuthorizationRequest
    ) throws(CofferError) -> AuthorizationRedirect {
        try checkState(parameters, request)
        let issuer = try checkedIssuer(parameters, request)
        let hasError = parameters.has("error")
        guard hasError != parameters.has("code") else {
            throw RedirectParameters.refused("it must contain either a code or an error")
        }
        // A token here would come from a flow that this request does not use.
        guard !parameters.has("access_token"), !parameters.has("id_token"), !parameters.has("response") else {
            throw RedirectParameters.refused("it contains a token instead of a code")
        }
        if hasError {
            let refusal = Refusal(
                code: try parameters.printable("error") ?? "",
                description: try parameters.printable("error_description"))
            guard !refusal.code.isEmpty else { throw RedirectParameters.refused("its error is empty") }
            return AuthorizationRedirect(issuer: issuer, refusal: refusal, code: nil)
        }
        guard let code = try parameters.secret("code"), isCode(code) else {
            throw RedirectParameters.refused("its code is empty or invalid")
        }
        return AuthorizationRedirect(issuer: issuer, refusal: nil, code: code)
    }

    private static func isCode(_ code: borrowing SecretBytes) -> Bool {
        (1...maxCodeByteCount).contains(code.count)
            && RedirectRequest.allSatisfy(
                code.guarded.span, 0..<code.count, { (0x20...0x7E).contains($0) })
    }

    /// Checks that the answer belongs to the request.
    static func checkState(
        _ parameters: borrowing RedirectParameters, _ request: AuthorizationRequest
    ) throws(CofferError) {
        let isEqual: Bool
        switch try parameters.secret("state") {
        case .some(let state): isEqual = state.isEqual(to: request.state)
        case .none: isEqual = false
        }
        guard isEqual else {
            throw CofferError(
                .stateMismatch,
                "The answer does not belong to this sign-in. Start it again, and use only its own address.")
        }
    }

    /// RFC 9207: some servers send `iss` without announcing it, so it is compared whenever it is there.
    static func checkedIssuer(
        _ parameters: borrowing RedirectParameters, _ request: AuthorizationRequest
    ) throws(CofferError) -> String? {
        guard let issuer = try parameters.bytes("iss") else {
            guard !request.contents.requiresIssuer else {
                throw CofferError(.issuerMismatch, "The answer does not name the server that sent it.")
            }
            return nil
        }
        guard issuer.elementsEqual(request.contents.issuer.utf8) else {
            throw CofferError(.issuerMismatch, "The answer names another server than the expected one.")
        }
        return request.contents.issuer
    }
}
