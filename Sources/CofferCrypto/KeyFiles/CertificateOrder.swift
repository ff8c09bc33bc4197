import CofferBase
import CofferEngine

/// The order of certificates that a file has in any order.
enum CertificateOrder {
    /// Returns the certificate with a public key, followed by those above it, each the issuer of the one
    /// before; and descriptions of those that were left out.
    ///
    /// A root whose signature or key is weak is left out: those who trust it have it.
    ///
    /// - Throws: `conflict` if there are certificates, and none has the public key; `invalidInput` if one is
    ///   damaged.
    static func chain(
        of all: [[UInt8]], for publicKey: SigningPublicKey
    ) throws(CofferError) -> (CertificateChain?, others: [String]) {
        guard !all.isEmpty else { return (nil, []) }
        let read = try all.map { (der) throws(CofferError) in try CertificateChain.certificate(der) }
        let info = publicKey.subjectPublicKeyInfo
        guard let own = read.firstIndex(where: { $0.hasPublicKey(info.span) }) else {
            throw CofferError(
                .conflict, "The file has certificates, but none of them is for its private key.")
        }
        var order = [own]
        while let last = order.last, !(try read[last].fields().isSelfIssued) {
            let next = read.indices.first { index in
                !order.contains(index) && read[last].isIssued(by: read[index])
            }
            guard let next else { break }
            let isRoot = try read[next].fields().isSelfIssued
            guard !isRoot || read[next].hasStrongKey && read[next].hasStrongSignature else { break }
            order.append(next)
        }
        let others = try all.indices.filter { !order.contains($0) }.map { (index) throws(CofferError) in
            "certificate of \(try read[index].fields().subject)"
        }
        return (CertificateChain(stored: order.map { all[$0] }), others)
    }
}
