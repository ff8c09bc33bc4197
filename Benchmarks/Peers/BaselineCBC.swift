package import CofferBase
import COpenSSL

/// AES-256-CBC with PKCS#5 padding as a C program would write it: one context, the key set once.
@safe package final class BaselineCBC {
    /// The ciphertext or, after decrypting, the plaintext followed by the rest of the padding's space.
    package private(set) var output: [UInt8]
    /// How many bytes of ``output`` are valid.
    package private(set) var written = 0

    private let context: OpaquePointer
    private let input: [UInt8]
    private let iv: [UInt8]

    /// Prepares one direction.
    package init(key: [UInt8], iv: [UInt8], input: [UInt8], encrypting: Bool) throws(CofferError) {
        self.iv = iv
        self.input = input
        output = [UInt8](repeating: 0, count: input.count + 16)
        unsafe context = try PeerFailure.checked(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
        let status = unsafe EVP_CipherInit_ex(
            context, EVP_aes_256_cbc(), nil, key, nil, encrypting ? 1 : 0)
        try PeerFailure.check(status == 1, "EVP_CipherInit_ex")
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Runs the input through the cipher this many times.
    package func transform(times: Int) throws(CofferError) {
        let count = Int32(input.count)
        let size: Int32? = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe input.withUnsafeBufferPointer { input in
                unsafe iv.withUnsafeBufferPointer { iv in
                    guard let target = output.baseAddress else { return nil }
                    var body: Int32 = 0
                    var tail: Int32 = 0
                    for _ in 0..<times {
                        guard unsafe EVP_CipherInit_ex(context, nil, nil, nil, iv.baseAddress, -1) == 1,
                            unsafe EVP_CipherUpdate(context, target, &body, input.baseAddress, count) == 1,
                            unsafe EVP_CipherFinal_ex(context, target + Int(body), &tail) == 1
                        else { return nil }
                    }
                    return body + tail
                }
            }
        }
        guard let size else { throw PeerFailure.failed("AES-CBC") }
        written = Int(size)
    }
}
