package import CofferBase
import COpenSSL

/// AES-256-CBC, then HMAC-SHA-256 over header ‖ IV ‖ ciphertext, as a C program would write it: both contexts
/// are kept and keyed once.
@safe package final class BaselineCBCHMAC {
    /// IV ‖ ciphertext ‖ tag.
    package private(set) var message: [UInt8]

    private let cipher: OpaquePointer
    private let mac: OpaquePointer
    private let header: [UInt8]
    private let plaintext: [UInt8]

    /// Prepares the contexts; `header` is authenticated before the IV.
    package init(
        encryptionKey: [UInt8], authenticationKey: [UInt8], iv: [UInt8], header: [UInt8], plaintext: [UInt8]
    ) throws(CofferError) {
        self.header = header
        self.plaintext = plaintext
        message = iv + [UInt8](repeating: 0, count: (plaintext.count / 16 + 1) * 16 + 32)
        let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil)
        unsafe mac = try PeerFailure.checked(EVP_MAC_CTX_new(algorithm), "EVP_MAC_CTX_new")
        unsafe EVP_MAC_free(algorithm)
        unsafe cipher = try PeerFailure.checked(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
        let ready = unsafe EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nil, encryptionKey, nil) == 1
        let keyed = unsafe Self.setKey(authenticationKey, of: mac)
        try PeerFailure.check(ready && keyed, "start")
    }

    /// The parameter's name and value are static text, because OpenSSL keeps their addresses after the call
    /// that creates the list.
    private static func setKey(_ key: [UInt8], of mac: OpaquePointer) -> Bool {
        let texts: (StaticString, StaticString) = ("digest", "SHA256")
        let name = unsafe UnsafeRawPointer(texts.0.utf8Start).assumingMemoryBound(to: CChar.self)
        let value = unsafe UnsafeRawPointer(texts.1.utf8Start).assumingMemoryBound(to: CChar.self)
        let list = unsafe [
            OSSL_PARAM_construct_utf8_string(name, UnsafeMutablePointer(mutating: value), 0),
            OSSL_PARAM_construct_end(),
        ]
        return unsafe EVP_MAC_init(mac, key, key.count, list) == 1
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(cipher)
        unsafe EVP_MAC_CTX_free(mac)
    }

    /// Seals the plaintext this many times.
    package func seal(times: Int) throws(CofferError) {
        let count = Int32(plaintext.count)
        let sealed = unsafe message.withUnsafeMutableBufferPointer { message in
            unsafe plaintext.withUnsafeBufferPointer { plaintext in
                unsafe header.withUnsafeBufferPointer { header in
                    guard let start = message.baseAddress else { return false }
                    var body: Int32 = 0
                    var tail: Int32 = 0
                    var tagSize = 0
                    let target = unsafe start + 16
                    for _ in 0..<times {
                        guard unsafe EVP_EncryptInit_ex(cipher, nil, nil, nil, start) == 1,
                            unsafe EVP_EncryptUpdate(
                                cipher, target, &body, plaintext.baseAddress, count) == 1,
                            unsafe EVP_EncryptFinal_ex(cipher, target + Int(body), &tail) == 1,
                            unsafe EVP_MAC_init(mac, nil, 0, nil) == 1,
                            unsafe EVP_MAC_update(mac, header.baseAddress, header.count) == 1,
                            unsafe EVP_MAC_update(mac, start, 16 + Int(body + tail)) == 1,
                            unsafe EVP_MAC_final(mac, target + Int(body + tail), &tagSize, 32) == 1
                        else { return false }
                    }
                    return true
                }
            }
        }
        try PeerFailure.check(sealed, "AES-CBC and HMAC")
    }
}
