import COpenSSL

/// OpenSSL's provider of outdated algorithms, in a library context of its own: nothing else in the program
/// can use what it offers. It is unloaded when its owner is released.
@safe final class LegacyProvider {
    private let context: OpaquePointer
    private let provider: OpaquePointer

    private init(_ context: OpaquePointer, _ provider: OpaquePointer) {
        unsafe self.context = context
        unsafe self.provider = provider
    }

    deinit {
        unsafe OSSL_PROVIDER_unload(provider)
        unsafe OSSL_LIB_CTX_free(context)
    }

    /// Loads the provider; `nil` if this machine does not have it.
    static func load() -> LegacyProvider? {
        OpenSSLAlgorithm.keepEverythingAtExit()
        defer { ERR_clear_error() }
        guard let context = unsafe OSSL_LIB_CTX_new() else { return nil }
        guard let provider = unsafe OSSL_PROVIDER_load(context, "legacy") else {
            unsafe OSSL_LIB_CTX_free(context)
            return nil
        }
        return unsafe LegacyProvider(context, provider)
    }

    /// Returns one of the provider's ciphers, which the caller frees before the provider; `nil` if it has
    /// none with this name.
    func cipher(_ name: String) -> OpaquePointer? {
        defer { ERR_clear_error() }
        return unsafe EVP_CIPHER_fetch(context, name, nil)
    }
}
