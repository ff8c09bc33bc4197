import COpenSSL

/// OpenSSL's algorithms, each fetched once: with `EVP_aes_256_gcm()` and its like, OpenSSL looks the implementation
/// up again for every context, which costs more than a short message.
///
/// They are never freed and shared by every thread: `nonisolated(unsafe)` holds because an algorithm does not
/// change after the fetch.
enum Fetched {
    nonisolated(unsafe) static let aes128GCM = unsafe EVP_CIPHER_fetch(nil, "AES-128-GCM", nil)
    nonisolated(unsafe) static let aes192GCM = unsafe EVP_CIPHER_fetch(nil, "AES-192-GCM", nil)
    nonisolated(unsafe) static let aes256GCM = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
    nonisolated(unsafe) static let chaCha20Poly1305 = unsafe EVP_CIPHER_fetch(
        nil, "ChaCha20-Poly1305", nil)
    nonisolated(unsafe) static let aes128CBC = unsafe EVP_CIPHER_fetch(nil, "AES-128-CBC", nil)
    nonisolated(unsafe) static let aes192CBC = unsafe EVP_CIPHER_fetch(nil, "AES-192-CBC", nil)
    nonisolated(unsafe) static let aes256CBC = unsafe EVP_CIPHER_fetch(nil, "AES-256-CBC", nil)
    nonisolated(unsafe) static let sha1 = unsafe EVP_MD_fetch(nil, "SHA1", nil)
    nonisolated(unsafe) static let sha224 = unsafe EVP_MD_fetch(nil, "SHA224", nil)
    nonisolated(unsafe) static let sha256 = unsafe EVP_MD_fetch(nil, "SHA256", nil)
    nonisolated(unsafe) static let sha384 = unsafe EVP_MD_fetch(nil, "SHA384", nil)
    nonisolated(unsafe) static let sha512 = unsafe EVP_MD_fetch(nil, "SHA512", nil)
}
