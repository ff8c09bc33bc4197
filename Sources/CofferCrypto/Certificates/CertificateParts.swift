/// Parts of a certificate in DER, as programs that search for certificates compare them.
package struct CertificateParts: Sendable {
    /// The serial number: the whole element, with its tag and length.
    package let serial: [UInt8]
    /// The name of the authority.
    package let issuer: [UInt8]
    /// The owner's name.
    package let subject: [UInt8]

    /// Reads the parts; `nil` if the bytes do not begin like a certificate.
    package init?(der: [UInt8]) {
        let bytes = der.span
        var whole = DERReader(0..<der.count)
        guard let certificate = whole.element(DERReader.sequence, bytes) else { return nil }
        var outer = DERReader(certificate)
        guard let signed = outer.element(DERReader.sequence, bytes) else { return nil }
        var reader = DERReader(signed)
        var start = signed.lowerBound
        // The version, which certificates of version 1 leave out, the number, the algorithm, the authority,
        // the dates and the owner.
        var tags = [DERReader.integer] + [UInt8](repeating: DERReader.sequence, count: 4)
        if reader.isNext(0xA0, bytes) { tags.insert(0xA0, at: 0) }
        var elements: [[UInt8]] = []
        for tag in tags {
            guard let content = reader.element(tag, bytes) else { return nil }
            elements.append(Array(der[start..<content.upperBound]))
            start = content.upperBound
        }
        let parts = elements.suffix(5)
        let first = parts.startIndex
        (serial, issuer, subject) = (parts[first], parts[first + 2], parts[first + 4])
    }
}
