/// The purpose that a certificate states.
public enum CertificatePurpose: String, Sendable, Hashable, CaseIterable {
    /// The owner's authentication in TLS (extended key usage `clientAuth`).
    case client
    /// Signatures of messages, such as requests and assertions. The certificate limits them to no protocol.
    case signature
}
