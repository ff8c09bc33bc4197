import CofferBase
import CofferEngine

/// The order of certificates that a file has in any order.
enum CertificateOrder {
    /// Returns the certificate with a public key, followed by those above it, each the issuer of the one
    /// before; and descriptions of those that were left out.
    ///
    /// If several certificates have one place, such as an old one and its renewal, the one whose validity
    /// ends last takes it. A root whose signature or key is weak is left out: those who trust it have it.
    ///
    /// - Throws: `conflict` if there are certificates, and none has the public key; `invalidInput` if one is
    ///   damaged.
    static func chain(
        of all: [[UInt8]], for publicKey: SigningPublicKey
    ) throws(CofferError) -> (CertificateChain?, others: [String]) {
        guard !all.isEmpty else { return (nil, []) }
        let read = try all.map { (der) throws(CofferError) in try CertificateChain.newCertificate(der) }
        let fields = try read.map { (certificate) throws(CofferError) in try certificate.fields() }
        // The first one of those that end last.
        func last(where isFit: (Int) -> Bool) -> Int? {
            fields.indices.filter(isFit).max { fields[$0].notAfter < fields[$1].notAfter }
        }
        let info = publicKey.subjectPublicKeyInfo
        guard let own = last(where: { read[$0].hasPublicKey(info.span) }) else {
            throw CofferError(
                .conflict, "The file has certificates, but none of them is for its private key.")
        }
        var order = [own]
        while let lower = order.last, !fields[lower].isSelfIssued {
            let next = last { index in
                !order.contains(index) && read[lower].isIssued(by: read[index])
                    && (!fields[index].isSelfIssued
                        || read[index].hasStrongKey && read[index].hasStrongSignature)
            }
            guard let next else { break }
            order.append(next)
        }
        let chain = order.map { all[$0] }
        let others = all.indices.filter { !chain.contains(all[$0]) }.map { index in
            "certificate of \(fields[index].subject)"
        }
        return (CertificateChain(stored: chain), others)
    }
}
