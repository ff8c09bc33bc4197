package import CofferBase
import COpenSSL

/// AES-256-GCM as a C program would write it: one context, the key set once, plain pointers in the loop.
@safe package final class BaselineGCM {
    /// Ciphertext ‖ tag after ``seal(times:)``, plaintext after ``open(times:)``.
    package private(set) var output: [UInt8]

    private let context: OpaquePointer
    private let input: [UInt8]
    private let nonce: [UInt8]

    /// Prepares one direction; `input` is the plaintext, or ciphertext ‖ tag.
    package init(key: [UInt8], nonce: [UInt8], input: [UInt8], sealing: Bool) throws(CofferError) {
        self.nonce = nonce
        self.input = input
        output = [UInt8](repeating: 0, count: sealing ? input.count + 16 : input.count - 16)
        unsafe context = try PeerFailure.checked(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
        let status = unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key, nil, sealing ? 1 : 0)
        try PeerFailure.check(status == 1, "EVP_CipherInit_ex")
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Seals the input this many times.
    package func seal(times: Int) throws(CofferError) {
        let count = input.count
        let sealed = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe input.withUnsafeBufferPointer { input in
                unsafe nonce.withUnsafeBufferPointer { nonce in
                    guard let target = output.baseAddress else { return false }
                    var written: Int32 = 0
                    for _ in 0..<times {
                        guard unsafe EVP_EncryptInit_ex(context, nil, nil, nil, nonce.baseAddress) == 1,
                            unsafe EVP_EncryptUpdate(
                                context, target, &written, input.baseAddress, Int32(count)) == 1,
                            unsafe EVP_EncryptFinal_ex(context, target + count, &written) == 1,
                            unsafe EVP_CIPHER_CTX_ctrl(
                                context, EVP_CTRL_AEAD_GET_TAG, 16, target + count) == 1
                        else { return false }
                    }
                    return true
                }
            }
        }
        try PeerFailure.check(sealed, "AES-GCM encryption")
    }

    /// Opens the input this many times.
    package func open(times: Int) throws(CofferError) {
        let count = output.count
        let opened = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe input.withUnsafeBufferPointer { input in
                unsafe nonce.withUnsafeBufferPointer { nonce in
                    guard let target = output.baseAddress, let source = input.baseAddress else {
                        return false
                    }
                    var written: Int32 = 0
                    let tag = unsafe UnsafeMutablePointer(mutating: source + count)
                    for _ in 0..<times {
                        guard unsafe EVP_DecryptInit_ex(context, nil, nil, nil, nonce.baseAddress) == 1,
                            unsafe EVP_DecryptUpdate(context, target, &written, source, Int32(count)) == 1,
                            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, tag) == 1,
                            unsafe EVP_DecryptFinal_ex(context, target + count, &written) == 1
                        else { return false }
                    }
                    return true
                }
            }
        }
        try PeerFailure.check(opened, "AES-GCM decryption")
    }
}
