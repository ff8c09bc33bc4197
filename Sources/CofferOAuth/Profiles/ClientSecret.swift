/// A secret of an OAuth client, which is stored beside its profile and never exported.
public enum ClientSecret: String, Sendable, Hashable, CaseIterable {
    /// The client secret.
    case secret
    /// The private key for signed assertions or for the client certificate: a PKCS #8 file without a
    /// passphrase. A client certificate's key is for P-256 or RSA.
    case key
    /// The client certificate with its chain.
    case certificate
    /// The user name, a colon and the password for the proxy.
    case proxy
}
