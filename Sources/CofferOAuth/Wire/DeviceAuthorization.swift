public import Coffer
public import CofferBase

/// A device authorization endpoint's answer (RFC 8628 section 3.2).
public struct DeviceAuthorization: Sendable {
    /// The code with which the client polls.
    public let deviceCode: Token
    /// The code that the user enters: 1 to 64 visible ASCII characters or spaces.
    public let userCode: String
    /// The page on which the user enters the code.
    public let verificationURL: HTTPSURL
    /// The same page with the code filled in; `nil` if the server offers none.
    public let completeVerificationURL: HTTPSURL?
    /// The life of both codes in seconds, at most ``maxLifetime``.
    public let lifetime: Int
    /// The time between two polls in seconds, 1 to ``maxInterval``. The default is 5.
    public let interval: Int

    /// The longest life that a client waits for: 30 minutes, in seconds.
    public static let maxLifetime = 1800
    /// The longest time between two polls, in seconds.
    public static let maxInterval = 300
    /// The seconds by which `slow_down` lengthens the interval (RFC 8628 section 3.5).
    public static let slowDownStep = 5

    /// Reads an answer.
    ///
    /// - Parameter answer: The answer.
    /// - Throws: `serverMalformed` if a member is missing or invalid; `serverRefused` with the server's code;
    ///   `serverUnreachable` if the same request can succeed later.
    public init(_ answer: HTTPResponse) throws(CofferError) {
        try answer.requireSuccess()
        guard let object = try answer.json()?.root else { throw Self.malformed("it is not a JSON object") }
        guard let code = try object.secret("device_code", limit: WireText.maxTokenByteCount),
            code.exposing({ WireText.isToken($0) })
        else { throw Self.malformed("device_code is missing or invalid") }
        guard let userCode = try object.text("user_code", limit: 64), !userCode.utf8.isEmpty,
            userCode.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw Self.malformed("user_code is missing or cannot be printed") }
        guard let url = try Self.url("verification_uri", in: object) else {
            throw Self.malformed("verification_uri is missing")
        }
        guard let lifetime = try object.integer("expires_in"), lifetime > 0 else {
            throw Self.malformed("expires_in is missing or not positive")
        }
        deviceCode = code
        self.userCode = userCode
        verificationURL = url
        completeVerificationURL = try Self.url("verification_uri_complete", in: object)
        self.lifetime = Int(min(lifetime, Int64(Self.maxLifetime)))
        interval = Int(min(max(try object.integer("interval") ?? 5, 1), Int64(Self.maxInterval)))
    }

    private static func malformed(_ reason: String) -> CofferError {
        CofferError(.serverMalformed, "The answer to the device sign-in is invalid: \(reason).")
    }

    private static func url(
        _ name: String, in object: GuardedJSON.Object
    ) throws(CofferError) -> HTTPSURL? {
        guard let text = try object.text(name) else { return nil }
        do throws(CofferError) {
            return try HTTPSURL(text)
        } catch {
            throw malformed("\(name) is not an https URL")
        }
    }
}
