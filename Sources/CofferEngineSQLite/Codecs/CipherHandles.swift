import COpenSSL
import CofferEngine

/// One of OpenSSL's algorithms, fetched once.
///
/// `@unchecked Sendable` holds because an algorithm does not change after the fetch and is never freed.
@safe private struct Algorithms: @unchecked Sendable {
    let gcm: OpaquePointer?
    let cbc: OpaquePointer?
    let ctr: OpaquePointer?
    let ecb: OpaquePointer?
    let hmac: OpaquePointer?

    static let shared = unsafe Algorithms(
        gcm: EVP_CIPHER_fetch(nil, "AES-256-GCM", nil), cbc: EVP_CIPHER_fetch(nil, "AES-256-CBC", nil),
        ctr: EVP_CIPHER_fetch(nil, "AES-256-CTR", nil), ecb: EVP_CIPHER_fetch(nil, "AES-256-ECB", nil),
        hmac: EVP_MAC_fetch(nil, "HMAC", nil))
}

/// An AES-256 context that is keyed once and used for page after page; cleansed when it goes.
@safe final class BlockCipher {
    enum Mode { case gcm, cbcEncryption, cbcDecryption, ctr, ecb }

    private let context: OpaquePointer

    /// `nil` when OpenSSL refuses, which it does for want of memory only.
    init?(_ mode: Mode, key: Span<UInt8>) {
        let cipher =
            switch mode {
            case .gcm: unsafe Algorithms.shared.gcm
            case .cbcEncryption, .cbcDecryption: unsafe Algorithms.shared.cbc
            case .ctr: unsafe Algorithms.shared.ctr
            case .ecb: unsafe Algorithms.shared.ecb
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

    /// Sets the IV, and with GCM the direction.
    func start(iv: Region, encrypting: Bool? = nil) -> Bool {
        let direction: Int32 = encrypting.map { $0 ? 1 : 0 } ?? -1
        return unsafe EVP_CipherInit_ex(context, nil, nil, nil, iv.start, direction) == 1
    }

    /// Adds associated data.
    func associate(_ data: Region) -> Bool {
        var count: Int32 = 0
        return unsafe EVP_CipherUpdate(context, nil, &count, data.start, Int32(data.count)) == 1
    }

    /// Runs `input` through the cipher into `output` of the same size; both may be the same region.
    func run(_ input: Region, into output: Region) -> Bool {
        precondition(output.count >= input.count)
        var count: Int32 = 0
        return unsafe EVP_CipherUpdate(context, output.start, &count, input.start, Int32(input.count)) == 1
            && Int(count) == input.count
    }

    /// The tag of what was encrypted.
    func finish(tag: Region) -> Bool {
        var count: Int32 = 0
        let done = unsafe EVP_CipherFinal_ex(context, tag.start, &count) == 1
        return unsafe done
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), tag.start) == 1
    }

    /// Whether `tag` is that of what was decrypted. OpenSSL compares in constant time.
    func verify(tag: Region) -> Bool {
        var count: Int32 = 0
        var none: UInt8 = 0
        let isSet =
            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), tag.start) == 1
        let holds = unsafe isSet && EVP_CipherFinal_ex(context, &none, &count) == 1
        if !holds { ERR_clear_error() }
        return holds
    }
}

/// An HMAC context that is keyed once and used for page after page; cleansed when it goes.
@safe final class PageMAC {
    private let context: OpaquePointer
    private let size: Int

    init?(_ digest: String, size: Int, key: Span<UInt8>) {
        guard let context = unsafe EVP_MAC_CTX_new(Algorithms.shared.hmac) else { return nil }
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

    /// Writes the tag over `body` and `number`, in four bytes little-endian, to `tag`.
    func authenticate(_ body: Region, number: Region, tag: Region) -> Bool {
        precondition(tag.count == size)
        var written = 0
        return unsafe EVP_MAC_init(context, nil, 0, nil) == 1
            && EVP_MAC_update(context, body.start, body.count) == 1
            && EVP_MAC_update(context, number.start, number.count) == 1
            && EVP_MAC_final(context, tag.start, &written, tag.count) == 1 && written == size
    }

    /// Whether two tags are equal, in constant time.
    static func equal(_ left: Region, _ right: Region) -> Bool {
        precondition(left.count == right.count)
        return unsafe CRYPTO_memcmp(left.start, right.start, left.count) == 0
    }
}
