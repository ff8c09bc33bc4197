import CofferBase
import CofferVault

/// Policy documents, which administrators write and which other programs may have damaged.
extension FuzzTarget {
    static let policies = [
        FuzzTarget("policy-plist") { bytes, _ in try readPolicy(bytes, .propertyList) },
        FuzzTarget("policy-json") { bytes, _ in try readPolicy(bytes, .json) },
    ]

    /// A document that is read says the same in both formats, and one with a mistake says nothing.
    private static func readPolicy(_ bytes: [UInt8], _ format: PolicyDocument.Format) throws {
        let document = PolicyDocument(reading: bytes, as: format)
        try FuzzFinding.require(document.isValid || document.values.isEmpty, "a mistaken policy has values")
        try FuzzFinding.require(
            document.findings.allSatisfy { $0.line >= 1 && $0.line <= bytes.count { $0 == 0x0A } + 1 },
            "a finding is on a line that the document does not have")
        for other in PolicyDocument.Format.allCases where document.isValid {
            // A format has no form for some values that have no meaning.
            guard let converted = try? document.encoded(as: other),
                converted.count <= PolicyDocument.maxByteCount
            else { continue }
            let again = PolicyDocument(reading: converted, as: other)
            try FuzzFinding.require(again.values == document.values, "a converted policy says something else")
        }
    }
}
