import CofferBase
import CLockedHeap

#if OAuth
    import CCurl
#endif

/// libcurl, the library that exchanges messages with servers.
package enum HTTPLibrary {
    #if OAuth
        /// How libcurl was initialised.
        private enum Start: Sendable {
            case onOwnHeap, onForeignHeap, failed, otherTLS
        }

        /// Initialises libcurl on a heap that clears freed memory. libcurl keeps the memory functions of its
        /// first initialisation: if other code of the program was earlier, its functions remain.
        private static let started: Start = {
            let status = unsafe curl_global_init_mem(
                ccurl_global_default, coffer_heap_allocate, coffer_heap_free, coffer_heap_resize,
                coffer_heap_copy_text, coffer_heap_allocate_array)
            guard status == CURLE_OK else { return .failed }
            // The options for TLS below are OpenSSL's.
            guard let backend = tlsVersion, backend.utf8.starts(with: "OpenSSL/".utf8) else {
                return .otherTLS
            }
            let sample = unsafe curl_slist_append(nil, "sample")
            defer { unsafe curl_slist_free_all(sample) }
            return unsafe coffer_heap_contains(sample) != 0 ? .onOwnHeap : .onForeignHeap
        }()

        private static var tlsVersion: String? {
            guard let text = unsafe ccurl_tls_version() else { return nil }
            return unsafe String(cString: text)
        }

        /// Initialises libcurl once.
        ///
        /// - Throws: `unsupported` if libcurl does not use OpenSSL; `internalFailure` if it cannot be
        ///   initialised.
        static func start() throws(CofferError) {
            switch started {
            case .onOwnHeap, .onForeignHeap: return
            case .otherTLS:
                throw CofferError(
                    .unsupported,
                    "libcurl does not use OpenSSL. Install the variant of libcurl that uses OpenSSL.")
            case .failed:
                throw CofferError(.internalFailure, "libcurl could not be initialised.")
            }
        }
    #endif

    /// The version of the loaded library; `nil` in a build without the trait `OAuth`.
    package static var version: String? {
        #if OAuth
            guard let text = unsafe ccurl_version() else { return nil }
            return unsafe String(cString: text)
        #else
            return nil
        #endif
    }

    /// Whether libcurl's own buffers are cleared, and locked in memory as far as the limit allows it. They
    /// are not if other code of the program initialised libcurl first.
    package static var isMemoryCleared: Bool {
        #if OAuth
            return started == .onOwnHeap
        #else
            return false
        #endif
    }
}
