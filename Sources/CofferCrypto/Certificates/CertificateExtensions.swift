import CofferBase

/// The extensions of certificates and of requests for them, in DER (RFC 5280, section 4.2.1).
enum CertificateExtensions {
    /// The maximum number of alternative names.
    static let mostNames = 100

    private static let (keyIdentifier, keyUsage, alternativeName, basicConstraints, extendedUsage):
        (UInt8, UInt8, UInt8, UInt8, UInt8) = (14, 15, 17, 19, 37)
    /// The identifier of `clientAuth`, 1.3.6.1.5.5.7.3.2.
    private static let clientAuthentication: [UInt8] = [
        0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02,
    ]
    /// A bit string with the first bit alone: `digitalSignature`.
    private static let digitalSignature: [UInt8] = [0x03, 0x02, 0x07, 0x80]

    /// Returns the sequence of extensions: no authority, the key's usage, the names, and, in a certificate,
    /// the identifier of the key.
    static func encoded(
        _ purpose: CertificatePurpose, _ names: [CertificateName], keyIdentifier identifier: [UInt8]? = nil
    ) throws(CofferError) -> [UInt8] {
        guard names.count <= mostNames else {
            throw CofferError(.invalidInput, "A certificate has at most \(mostNames) alternative names.")
        }
        var list = one(basicConstraints, isCritical: true, DERWriter.element(0x30, []))
        list += one(keyUsage, isCritical: true, digitalSignature)
        if purpose == .client {
            list += one(extendedUsage, DERWriter.element(0x30, clientAuthentication))
        }
        if !names.isEmpty {
            list += one(alternativeName, DERWriter.element(0x30, names.flatMap(\.encoded)))
        }
        if let identifier { list += one(keyIdentifier, DERWriter.element(0x04, identifier)) }
        return DERWriter.element(0x30, list)
    }

    /// Returns an extension with the identifier 2.5.29.n.
    private static func one(_ number: UInt8, isCritical: Bool = false, _ value: [UInt8]) -> [UInt8] {
        let critical: [UInt8] = isCritical ? [0x01, 0x01, 0xFF] : []
        return DERWriter.element(
            0x30, [0x06, 0x03, 0x55, 0x1D, number] + critical + DERWriter.element(0x04, value))
    }
}
