package import CofferBase
import COpenSSL

/// HKDF (RFC 5869) with OpenSSL.
package enum HKDFBinding {
    package enum Mode: Sendable {
        /// Extracts with a salt, then expands.
        case extractAndExpand
        /// Expands a key that is already uniform.
        case expandOnly
    }

    /// Derives a key and writes it to `output`, which may be at most 255 times as long as the digest.
    package static func derive(
        key: Span<UInt8>, salt: Span<UInt8>, info: Span<UInt8>, digest: DigestAlgorithm, mode: Mode,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard output.count > 0, output.count <= 255 * digest.size else {
            throw CofferError(
                .invalidInput, "With this digest, HKDF can derive 1 to \(255 * digest.size) bytes.")
        }
        guard let context = unsafe EVP_KDF_CTX_new(OpenSSLAlgorithm.hkdf.pointer) else {
            throw OpenSSLFailure.unexpected("EVP_KDF_CTX_new")
        }
        defer { unsafe EVP_KDF_CTX_free(context) }
        var modeValue =
            mode == .extractAndExpand ? EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND : EVP_KDF_HKDF_MODE_EXPAND_ONLY
        let status = unsafe withUnsafeMutablePointer(to: &modeValue) { modePointer in
            unsafe key.withUnsafeBytes { key in
                unsafe salt.withUnsafeBytes { salt in
                    unsafe info.withUnsafeBytes { info in
                        unsafe OSSLParameters.withDigest(digest) { digestParameter in
                            var list = unsafe [
                                digestParameter.pointee,
                                OSSLParameters.integer(OSSLParameters.mode, modePointer),
                                OSSLParameters.octets(OSSLParameters.key, key),
                                OSSLParameters.octets(OSSLParameters.info, info),
                            ]
                            if salt.count > 0 {
                                unsafe list.append(OSSLParameters.octets(OSSLParameters.salt, salt))
                            }
                            unsafe list.append(OSSL_PARAM_construct_end())
                            return unsafe output.withUnsafeMutableBufferPointer { output in
                                unsafe EVP_KDF_derive(context, output.baseAddress, output.count, list)
                            }
                        }
                    }
                }
            }
        }
        guard status == 1 else { throw OpenSSLFailure.unexpected("EVP_KDF_derive") }
    }
}
