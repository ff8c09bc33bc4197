import COpenSSL
import CofferBase

/// The owner of an `EVP_PKEY`, which lives for one operation. OpenSSL clears the private numbers when it
/// frees the key.
@safe final class SignatureKey {
    let pointer: OpaquePointer

    private init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// The parts of a key in its parameters.
    enum Parts {
        case publicKey
        case keyPair

        /// The value of `EVP_PKEY_PUBLIC_KEY` or `EVP_PKEY_KEYPAIR`, which are macros of macros.
        fileprivate var selection: Int32 {
            switch self {
            case .publicKey: 0x86
            case .keyPair: 0x87
            }
        }
    }

    /// Returns the key with these parameters, whose list must not be terminated yet; `nil` if OpenSSL refuses
    /// them, such as a point that is not on its curve. Without OpenSSL's decoders, no copy of a private key
    /// passes through buffers that nobody clears.
    static func make(_ type: String, _ parts: Parts, _ parameters: [OSSL_PARAM]) -> SignatureKey? {
        OpenSSLAlgorithm.keepEverythingAtExit()
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, type, nil) else {
            ERR_clear_error()
            return nil
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var list = unsafe parameters
        unsafe list.append(OSSL_PARAM_construct_end())
        var made: OpaquePointer?
        let status = unsafe EVP_PKEY_fromdata_init(context)
        guard status == 1, unsafe EVP_PKEY_fromdata(context, &made, parts.selection, &list) == 1,
            let key = unsafe made
        else {
            ERR_clear_error()
            return nil
        }
        return unsafe SignatureKey(key)
    }
}
