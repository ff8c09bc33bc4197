#if SecretService
    import CSecretService
#endif

/// The library that speaks to the desktop keyring.
package enum SecretServiceLibrary {
    /// The version that this build was made with, because libsecret cannot be asked for its own; `nil` if the
    /// build does not link it.
    package static var version: String? {
        #if SecretService
            return "\(SECRET_MAJOR_VERSION).\(SECRET_MINOR_VERSION).\(SECRET_MICRO_VERSION)"
        #else
            return nil
        #endif
    }
}
