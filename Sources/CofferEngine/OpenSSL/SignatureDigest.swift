/// The hash function of a signature by OpenSSL.
package enum SignatureDigest: String, Sendable {
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"
}
