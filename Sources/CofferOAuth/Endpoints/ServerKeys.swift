import CofferBase
import CofferCrypto

/// The public keys of servers, kept in memory. Keys are fetched again after an hour, and once when a token
/// names a key that is not among them, because servers change their keys.
package actor ServerKeys {
    private struct Entry {
        let keys: JSONWebKeySet
        let fetched: Duration
    }

    /// The time after which keys that the server may have withdrawn are no longer trusted.
    private static let life = Duration.seconds(3600)
    /// The time between two fetches because of unknown keys: anybody can invent the name of a key.
    private static let pause = Duration.seconds(30)

    private var entries: [String: Entry] = [:]
    private var refetches: [String: Duration] = [:]

    /// Creates an empty cache.
    package init() {}

    /// Returns a token whose signature was verified with the server's keys.
    ///
    /// - Parameters:
    ///   - token: The token in its compact form.
    ///   - types: The permitted types.
    ///   - endpoints: The server.
    /// - Returns: The token, whose claims are not checked.
    /// - Throws: `notAuthentic` or `invalidInput` if the token is not as required; `unsupported` if the
    ///   profile has no URL of keys; `serverMalformed`, `serverRefused`, `serverUnreachable`; the errors of
    ///   the transport.
    func verified(
        _ token: SecretBox, types: [String], by endpoints: ServerEndpoints
    ) async throws(CofferError) -> JSONWebToken {
        // Each profile has its own rules for connections, so it has its own keys.
        let url = try endpoints.url(.keys)
        let name = endpoints.profile.name + " " + url.text
        let now = endpoints.bootTime
        var keys: JSONWebKeySet
        if let entry = entries[name], now >= entry.fetched, now < entry.fetched + Self.life {
            keys = entry.keys
            if !Self.isKnown(token, in: keys), mayRefetch(name, now: now) {
                refetches[name] = now
                keys = try await fetch(name, endpoints)
            }
        } else {
            keys = try await fetch(name, endpoints)
        }
        return try JSONWebToken(verifying: token.bytes, keys: keys, types: types)
    }

    private func mayRefetch(_ name: String, now: Duration) -> Bool {
        guard let last = refetches[name] else { return true }
        return now < last || now >= last + Self.pause
    }

    private func fetch(
        _ name: String, _ endpoints: ServerEndpoints
    ) async throws(CofferError) -> JSONWebKeySet {
        let text = try await endpoints.document(.keys, limits: .keys)
        let keys: JSONWebKeySet
        do throws(CofferError) {
            keys = try JSONWebKeySet(parsing: text)
        } catch {
            guard error.code == .invalidInput else { throw error }
            throw CofferError(.serverMalformed, "The server's document of keys is invalid.")
        }
        entries[name] = Entry(keys: keys, fetched: endpoints.bootTime)
        return keys
    }

    /// Returns whether a token names a key of the set. Nothing protects the name yet, so it decides only
    /// whether the keys are fetched again.
    private static func isKnown(_ token: SecretBox, in keys: JSONWebKeySet) -> Bool {
        guard let name = keyID(of: token) else { return false }
        return keys.keys.contains { $0.keyID?.hasSameBytes(as: name) == true }
    }

    private static func keyID(of token: SecretBox) -> String? {
        token.bytes.exposing { (bytes) -> String? in
            var end = 0
            while end < bytes.count, bytes[end] != UInt8(ascii: ".") { end += 1 }
            guard let header = try? Base64URL.decode(bytes.extracting(0..<end)),
                let members = try? JSONValue(parsing: header)
            else { return nil }
            return members["kid"]?.string
        }
    }
}
