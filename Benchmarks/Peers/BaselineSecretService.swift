#if SecretService
    package import CofferBase
    import CSecretService

    /// Passwords through libsecret's own simple calls, on the session bus of this process.
    package enum BaselineSecretService {
        /// The version of the libsecret that this was built with.
        package static let version = "\(SECRET_MAJOR_VERSION).\(SECRET_MINOR_VERSION).\(SECRET_MICRO_VERSION)"

        /// Releases the session with the service, which does not outlive its daemon.
        package static func disconnect() { secret_service_disconnect() }

        /// Stores `password` under one attribute, replacing an existing one.
        package static func store(_ name: String, _ password: String) throws(CofferError) {
            let attributes = unsafe table(name)
            defer { unsafe g_hash_table_unref(attributes) }
            let isStored = unsafe secret_password_storev_sync(
                nil, attributes, SECRET_COLLECTION_DEFAULT, "bench", password, nil, nil)
            try PeerFailure.check(isStored != 0, "secret_password_storev_sync")
        }

        /// The password under that attribute.
        package static func lookup(_ name: String) throws(CofferError) -> String {
            let attributes = unsafe table(name)
            defer { unsafe g_hash_table_unref(attributes) }
            guard let found = unsafe secret_password_lookupv_sync(nil, attributes, nil, nil) else {
                throw PeerFailure.failed("secret_password_lookupv_sync")
            }
            defer { unsafe secret_password_free(found) }
            return unsafe String(cString: found)
        }

        private static func table(_ name: String) -> OpaquePointer? {
            let made = unsafe g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)
            unsafe g_hash_table_insert(made, g_strdup("bench"), g_strdup(name))
            return unsafe made
        }
    }
#endif
