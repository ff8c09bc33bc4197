import Coffer
package import CofferBase
import CofferCrypto
import CofferEngine

extension ProfileStore {
    /// Returns the rules for connections to a profile's server, with the client's certificate and the proxy's
    /// credentials from the vault.
    ///
    /// - Parameter profile: The profile.
    /// - Returns: The rules.
    /// - Throws: `hostRefused` or `refused` if the administrator does not allow the profile; `absent` if a
    ///   client certificate is required and its chain or its key is not stored; `invalidInput` if the proxy's
    ///   credentials have no colon; `locked`, `wiped` or `corrupt`.
    package func security(of profile: OAuthProfile) async throws(CofferError) -> TransportSecurity {
        // No connection without it: a stored profile may be older than the administrator's configuration.
        try managed?.check(profile)
        var security = TransportSecurity()
        if let authorities = profile.trust.authorities {
            security.trust = .certificates(Array(authorities.utf8))
        }
        security.pins = profile.trust.publicKeyDigests
        switch profile.proxy {
        case .none: security.proxy = .none
        case .environment: security.proxy = .environment
        case .server(let host, let port): security.proxy = try await proxy(host, port, of: profile.name)
        }
        if profile.authentication == .mutualTLS {
            guard let chain = try await secret(.certificate, of: profile.name),
                let key = try await secret(.key, of: profile.name)
            else {
                throw CofferError(
                    .absent, "The profile \(profile.name) has no client certificate or no key for it.",
                    remedy: .storeClientCertificate)
            }
            security.clientCertificate = TransportSecurity.ClientCertificate(
                chain: chain.copyBytes(), key: try key.guardedCopy())
        }
        return security
    }

    private func proxy(
        _ host: String, _ port: UInt16, of name: String
    ) async throws(CofferError) -> TransportProxy {
        guard let credentials = try await secret(.proxy, of: name) else {
            return .server(TransportProxy.Server(host: host, port: port))
        }
        let server = try credentials.exposing { (bytes) throws(CofferError) -> TransportProxy.Server in
            var colon = 0
            while colon < bytes.count, bytes[colon] != UInt8(ascii: ":") { colon += 1 }
            guard colon < bytes.count,
                let user = String(validating: bytes.extracting(..<colon).copied(), as: UTF8.self)
            else {
                throw CofferError(
                    .invalidInput, "The proxy's credentials must be a user name, a colon and a password.")
            }
            let password = try SecretBytes.copying(bytes.extracting((colon + 1)...))
            return TransportProxy.Server(host: host, port: port, user: user, password: password)
        }
        return .server(server)
    }
}
