import CofferBase
import CofferEngine

/// Certificates and requests in PEM (RFC 7468).
package enum CertificatePEM {
    private static let (head, foot) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
    private static let keyMark = "PRIVATE KEY-----"

    /// Returns DER in PEM.
    ///
    /// - Throws: `outOfMemory`.
    package static func pem(_ der: [UInt8], _ label: String) throws(CofferError) -> String {
        let text = try Encoding.base64Text(der)
        var lines = ["-----BEGIN \(label)-----"]
        for start in stride(from: 0, to: text.count, by: 64) {
            lines.append(String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self))
        }
        return (lines + ["-----END \(label)-----", ""]).joined(separator: "\n")
    }

    /// Returns the content of each block `CERTIFICATE`, at most one more than a chain may have. Text around
    /// the blocks is ignored, and so are blanks at the beginning and the end of a line.
    ///
    /// - Throws: `invalidInput` if a block is damaged, or if there is a private key in the text, which must
    ///   not get among what is not secret.
    static func blocks(in file: [UInt8]) throws(CofferError) -> [[UInt8]] {
        var (blocks, open): ([[UInt8]], [UInt8]?) = ([], nil)
        for line in file.dropFirst(PEMText.markSize(file.span)).split(separator: UInt8(ascii: "\n")) {
            let line = line.trimmingPEMBlanks
            guard !line.reversed().starts(with: keyMark.utf8.reversed()) else {
                throw CofferError(
                    .invalidInput, "The file contains a private key. Give the certificates alone.")
            }
            if line.elementsEqual(head.utf8) {
                guard open == nil else { throw damaged }
                open = []
            } else if line.elementsEqual(foot.utf8) {
                guard let text = open else { throw damaged }
                blocks.append(try content(text))
                open = nil
                if blocks.count > CertificateChain.mostCertificates { return blocks }
            } else if open != nil {
                open? += line
            }
        }
        guard open == nil else { throw damaged }
        return blocks
    }

    private static func content(_ text: [UInt8]) throws(CofferError) -> [UInt8] {
        do throws(CofferError) {
            return try Encoding.decodeBase64Text(text)
        } catch {
            guard error.code == .invalidInput else { throw error }
            throw damaged
        }
    }

    private static var damaged: CofferError {
        CofferError(.invalidInput, "A certificate in PEM is damaged: its lines are not complete.")
    }
}
