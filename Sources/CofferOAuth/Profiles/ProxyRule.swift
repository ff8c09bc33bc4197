/// The proxy through which a profile's server is reached.
public enum ProxyRule: Sendable, Hashable {
    /// None, whatever the environment says.
    case none
    /// The proxy that the environment names.
    case environment
    /// This proxy. Its credentials, if any, are the client's secret ``ClientSecret/proxy``.
    case server(host: String, port: UInt16)
}
