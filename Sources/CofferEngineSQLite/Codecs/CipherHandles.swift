import COpenSSL
import CofferEngine

/// An AES-256 context that is keyed once, used for many pages, and cleared when it is released.
@safe final class BlockCipher {
    enum Mode { case cbcEncryption, cbcDecryption, ctr }

    private let context: OpaquePointer

    /// Creates a context. Returns `nil` if `key` is not 32 bytes long, or if OpenSSL fails, which happens
    /// only when memory runs out.
    init?(_ mode: Mode, key: Span<UInt8>) {
        let cipher =
            switch mode {
            case .cbcEncryption, .cbcDecryption: unsafe OpenSSLAlgorithm.aes256CBC.pointer
            case .ctr: unsafe OpenSSLAlgorithm.aes256CTR.pointer
            }
        guard key.count == 32, let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        unsafe self.context = context
        let direction: Int32 = mode == .cbcDecryption ? 0 : 1
        let started = unsafe key.withUnsafeBufferPointer { key in
            unsafe EVP_CipherInit_ex(context, cipher, nil, key.baseAddress, nil, direction) == 1
        }
        unsafe EVP_CIPHER_CTX_set_padding(context, 0)
        guard started else { return nil }
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Sets the IV. Reports whether OpenSSL succeeded.
    func start(iv: SharedMemoryRegion) -> Bool {
        unsafe EVP_CipherInit_ex(context, nil, nil, nil, iv.start, -1) == 1
    }

    /// Runs `input` through the cipher into `output`, which must be at least as large and may be the same
    /// region. Reports whether OpenSSL succeeded.
    func run(_ input: SharedMemoryRegion, into output: SharedMemoryRegion) -> Bool {
        precondition(output.count >= input.count)
        var count: Int32 = 0
        return unsafe EVP_CipherUpdate(context, output.start, &count, input.start, Int32(input.count)) == 1
            && Int(count) == input.count
    }
}

/// An HMAC context that is keyed once, used for many pages, and cleared when it is released.
@safe final class PageMAC {
    private let context: OpaquePointer
    private let size: Int

    init?(_ digest: String, size: Int, key: Span<UInt8>) {
        guard let context = unsafe EVP_MAC_CTX_new(OpenSSLAlgorithm.hmac.pointer) else { return nil }
        unsafe self.context = context
        self.size = size
        var name = Array(digest.utf8CString)
        let started = unsafe key.withUnsafeBufferPointer { key in
            unsafe name.withUnsafeMutableBufferPointer { name in
                unsafe "digest".withCString { parameter in
                    let list = unsafe [
                        OSSL_PARAM_construct_utf8_string(parameter, name.baseAddress, 0),
                        OSSL_PARAM_construct_end(),
                    ]
                    return unsafe EVP_MAC_init(context, key.baseAddress, key.count, list) == 1
                }
            }
        }
        guard started else { return nil }
    }

    deinit { unsafe EVP_MAC_CTX_free(context) }

    /// Computes the tag over `body` followed by `number`, and writes it to `tag`. Reports whether OpenSSL
    /// succeeded.
    func authenticate(_ body: SharedMemoryRegion, number: SharedMemoryRegion, tag: SharedMemoryRegion) -> Bool
    {
        precondition(tag.count == size)
        var written = 0
        return unsafe EVP_MAC_init(context, nil, 0, nil) == 1
            && EVP_MAC_update(context, body.start, body.count) == 1
            && EVP_MAC_update(context, number.start, number.count) == 1
            && EVP_MAC_final(context, tag.start, &written, tag.count) == 1 && written == size
    }

    /// Reports whether two tags are equal, in constant time.
    static func equal(_ left: SharedMemoryRegion, _ right: SharedMemoryRegion) -> Bool {
        precondition(left.count == right.count)
        return unsafe CRYPTO_memcmp(left.start, right.start, left.count) == 0
    }
}
