public import CofferBase

/// The name of a certificate's owner.
public struct CertificateSubject: Sendable, Hashable {
    /// The maximum number of bytes of a common name or an organization (`ub-common-name` in RFC 5280, which
    /// counts characters).
    public static let longestPart = 64

    /// The owner's own name.
    public let commonName: String
    /// The organization; `nil` for none.
    public let organization: String?
    /// The country, two letters from A to Z; `nil` for none.
    public let country: String?

    /// Creates a name.
    ///
    /// - Parameters:
    ///   - commonName: The owner's own name, 1 to 64 bytes without control characters.
    ///   - organization: The organization, in the same form; `nil` for none.
    ///   - country: The country, two letters from A to Z (ISO 3166); `nil` for none.
    /// - Throws: `invalidInput` if a part has another form.
    public init(
        commonName: String, organization: String? = nil, country: String? = nil
    ) throws(CofferError) {
        guard Self.isPart(commonName), organization.map(Self.isPart) ?? true else {
            throw CofferError(
                .invalidInput,
                "The common name and the organization of a certificate must have 1 to \(Self.longestPart) "
                    + "bytes and no control characters.")
        }
        guard country.map(Self.isCountry) ?? true else {
            throw CofferError(.invalidInput, "The country must be two letters from A to Z, such as DE.")
        }
        (self.commonName, self.organization, self.country) = (commonName, organization, country)
    }

    private static func isPart(_ text: String) -> Bool {
        // Not bytes: a terminal that prints the name understands characters, too.
        let isPlain = !text.unicodeScalars.contains {
            [.control, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
        }
        return 1...longestPart ~= text.utf8.count && isPlain
    }

    private static func isCountry(_ text: String) -> Bool {
        text.utf8.count == 2
            && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    /// The name in DER (RFC 5280, section 4.1.2.4).
    var encoded: [UInt8] {
        var parts: [UInt8] = []
        if let country { parts += Self.part(6, 0x13, country) }
        if let organization { parts += Self.part(10, 0x0C, organization) }
        return DERWriter.element(0x30, parts + Self.part(3, 0x0C, commonName))
    }

    /// Returns one attribute: a set with the identifier 2.5.4.n and a text.
    private static func part(_ number: UInt8, _ tag: UInt8, _ text: String) -> [UInt8] {
        let pair = [0x06, 0x03, 0x55, 0x04, number] + DERWriter.element(tag, Array(text.utf8))
        return DERWriter.element(0x31, DERWriter.element(0x30, pair))
    }
}
