#if OAuth
    import CCurl
    import CofferBase
    import CofferEngine

    /// The handles of libcurl for one exchange. Nothing is kept for another one: no connection, session,
    /// cookie or address.
    @safe final class CurlTransfer {
        /// The longest time between two looks at whether the exchange was cancelled, in milliseconds.
        private static let step: CInt = 50

        private let plan: HTTPPlan
        private let easy: UnsafeMutableRawPointer
        private let multi: UnsafeMutableRawPointer
        private var list: UnsafeMutablePointer<curl_slist>?
        private let collector: ResponseCollector
        /// The data for and from OpenSSL. The handles, which may close a connection late, go first.
        private let tls: UnsafeMutablePointer<ccurl_tls>
        /// The first option that libcurl refused.
        private var refused = CURLE_OK

        init(_ plan: HTTPPlan) throws(CofferError) {
            let collector = try ResponseCollector(plan)
            guard let easy = unsafe curl_easy_init() else {
                throw CurlFailure.error(CURLE_OUT_OF_MEMORY, errno: 0)
            }
            guard let multi = unsafe curl_multi_init() else {
                unsafe curl_easy_cleanup(easy)
                throw CurlFailure.error(CURLE_OUT_OF_MEMORY, errno: 0)
            }
            self.plan = plan
            self.collector = collector
            unsafe self.easy = easy
            unsafe self.multi = multi
            unsafe tls = UnsafeMutablePointer<ccurl_tls>.allocate(capacity: 1)
            unsafe tls.initialize(to: ccurl_tls())
        }

        deinit {
            unsafe curl_easy_cleanup(easy)
            unsafe curl_multi_cleanup(multi)
            unsafe curl_slist_free_all(list)
            unsafe tls.deallocate()
        }

        // MARK: Options

        private func set(_ option: CURLoption, _ value: Int) {
            note(unsafe ccurl_set_long(easy, option, value))
        }

        private func set(_ option: CURLoption, _ text: String?) {
            if let text {
                note(unsafe ccurl_set_text(easy, option, text))
            } else {
                note(unsafe ccurl_set_text(easy, option, nil))
            }
        }

        private func note(_ status: CURLcode) { if refused == CURLE_OK { refused = status } }

        private func checkOptions() throws(CofferError) {
            guard refused == CURLE_OK else { throw CurlFailure.error(refused, errno: 0) }
        }

        /// Adds the request's fields and those that libcurl must not add by itself.
        ///
        /// - Throws: `outOfMemory` if no memory is available.
        func apply(fields: Span<UInt8>) throws(CofferError) {
            var start = 0
            for index in 0..<fields.count where fields[index] == 0 {
                let line = fields.extracting(start..<index + 1)
                try unsafe line.withUnsafeBytes { (bytes) throws(CofferError) in
                    try unsafe add(bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
                }
                start = index + 1
            }
            // A name and a colon alone remove a field of libcurl's own.
            for line in ["Accept-Encoding: identity", "Expect:"] { try unsafe add(line) }
            note(unsafe ccurl_set_list(easy, CURLOPT_HTTPHEADER, list))
        }

        private func add(_ line: UnsafePointer<CChar>?) throws(CofferError) {
            guard let longer = unsafe curl_slist_append(list, line) else {
                throw CurlFailure.error(CURLE_OUT_OF_MEMORY, errno: 0)
            }
            unsafe list = longer
        }

        /// The rules of every exchange: HTTPS and HTTP/1.1 only, and no state from elsewhere.
        private func applyRules() {
            set(CURLOPT_URL, plan.url)
            set(CURLOPT_USERAGENT, plan.userAgent)
            set(CURLOPT_PROTOCOLS_STR, "https")
            set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
            set(CURLOPT_HTTP_VERSION, ccurl_http_1_1)
            for option in [
                CURLOPT_FOLLOWLOCATION, CURLOPT_NETRC, CURLOPT_SSL_SESSIONID_CACHE, CURLOPT_DNS_CACHE_TIMEOUT,
                CURLOPT_FAILONERROR, CURLOPT_HTTP09_ALLOWED,
            ] { set(option, 0) }
            for option in [
                CURLOPT_NOSIGNAL, CURLOPT_FRESH_CONNECT, CURLOPT_FORBID_REUSE, CURLOPT_PATH_AS_IS,
                CURLOPT_DISALLOW_USERNAME_IN_URL, CURLOPT_SUPPRESS_CONNECT_HEADERS, CURLOPT_QUICK_EXIT,
            ] { set(option, 1) }
            set(CURLOPT_HEADEROPT, ccurl_separate_fields)
            set(CURLOPT_CONNECTTIMEOUT_MS, plan.connectTime.wholeMilliseconds)
            set(CURLOPT_TIMEOUT_MS, plan.totalTime.wholeMilliseconds)
            note(unsafe ccurl_close_sockets_in_children(easy))
        }

        /// Requires the lowest rate. libcurl also measures it while the server thinks, so this must wait for
        /// the first byte: the answer to a spent token would be lost.
        private func applyRate() {
            set(CURLOPT_LOW_SPEED_LIMIT, plan.lowestRate)
            set(CURLOPT_LOW_SPEED_TIME, Int(plan.lowestRateTime.components.seconds))
        }

        private func applyMethod() {
            if plan.method.hasSameBytes(as: "HEAD") { return set(CURLOPT_NOBODY, 1) }
            set(CURLOPT_CUSTOMREQUEST, plan.method)
        }

        private func applyTrust() {
            set(CURLOPT_SSL_VERIFYPEER, 1)
            set(CURLOPT_SSL_VERIFYHOST, 2)
            set(CURLOPT_SSLVERSION, ccurl_tls_1_2)
            note(unsafe ccurl_set_tls_preparation(easy, tls))
            set(CURLOPT_PINNEDPUBLICKEY, plan.pins)
            // The default folder would be trusted beside the profile's own certificates.
            if plan.authorities != nil {
                set(CURLOPT_CAINFO, nil)
                set(CURLOPT_CAPATH, nil)
            }
        }

        private func applyProxy() {
            // An empty text: no proxy, whatever the environment says.
            set(CURLOPT_PROXY, plan.proxy ?? "")
            set(CURLOPT_NOPROXY, "")
            guard plan.proxy != nil else { return }
            set(CURLOPT_HTTPPROXYTUNNEL, 1)
            set(CURLOPT_PROXYAUTH, ccurl_basic_authentication)
        }

        // MARK: The exchange

        /// Performs the exchange. The spans stay where they are until the handles have let go of them.
        func perform(
            body: Span<UInt8>, key: Span<UInt8>, proxyCredentials: Span<UInt8>, isCancelled: () -> Bool
        ) throws(CofferError) -> HTTPOutcome {
            applyRules()
            applyMethod()
            applyTrust()
            applyProxy()
            try checkOptions()
            let client = try clientKey(key)
            // Arrays that live as long as the transfer: libcurl gets their addresses.
            let (authorities, certificates) = (plan.authorities ?? [], plan.certificates ?? [])
            return try unsafe body.withUnsafeBytes { (body) throws(CofferError) in
                try unsafe authorities.span.withUnsafeBytes { (authorities) throws(CofferError) in
                    try unsafe certificates.span.withUnsafeBytes { (certificates) throws(CofferError) in
                        unsafe setBody(body)
                        if plan.authorities != nil { unsafe setBlob(CURLOPT_CAINFO_BLOB, authorities) }
                        setProxyCredentials(proxyCredentials)
                        return try unsafe run(certificates, client, isCancelled)
                    }
                }
            }
        }

        /// Returns the key that belongs to the plan's certificates. libcurl would have it decoded from a
        /// file, which leaves copies in memory.
        private func clientKey(_ bytes: Span<UInt8>) throws(CofferError) -> TLSClientKey? {
            guard plan.certificates != nil else { return nil }
            guard let form = plan.clientKey else {
                throw CofferError(.invalidInput, "The client certificate has no key.")
            }
            return try TLSClientKey.make(form, bytes)
        }

        /// Performs the exchange with a client certificate, if there is a key for it.
        private func run(
            _ certificates: UnsafeRawBufferPointer, _ key: TLSClientKey?, _ isCancelled: () -> Bool
        ) throws(CofferError) -> HTTPOutcome {
            defer { withExtendedLifetime(key) {} }
            if let key {
                unsafe tls.pointee.certificates = certificates.baseAddress
                unsafe tls.pointee.count = certificates.count
                unsafe tls.pointee.key = key.address
            }
            return try run(isCancelled)
        }

        private func setBody(_ bytes: UnsafeRawBufferPointer) {
            guard plan.hasBody else { return }
            note(unsafe ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, bytes.count))
            // An address in any case: without one, libcurl would ask for the body.
            if bytes.count > 0, let start = bytes.baseAddress {
                note(unsafe ccurl_set_pointer(easy, CURLOPT_POSTFIELDS, start))
            } else {
                note(unsafe ccurl_set_text(easy, CURLOPT_COPYPOSTFIELDS, ""))
            }
        }

        private func setBlob(_ option: CURLoption, _ bytes: UnsafeRawBufferPointer) {
            // libcurl reads no empty blob.
            guard bytes.count > 0 else { return note(CURLE_SSL_CERTPROBLEM) }
            note(unsafe ccurl_set_blob(easy, option, bytes.baseAddress, bytes.count))
        }

        private func setProxyCredentials(_ text: Span<UInt8>) {
            guard plan.hasProxyCredentials else { return }
            guard text.count > 0, text[text.count - 1] == 0 else { return note(CURLE_BAD_FUNCTION_ARGUMENT) }
            unsafe text.withUnsafeBytes { bytes in
                note(unsafe ccurl_set_pointer(easy, CURLOPT_PROXYUSERPWD, bytes.baseAddress))
            }
        }

        private func run(_ isCancelled: () -> Bool) throws(CofferError) -> HTTPOutcome {
            let state = unsafe Unmanaged.passUnretained(collector).toOpaque()
            note(unsafe ccurl_set_pointer(easy, CURLOPT_HEADERDATA, state))
            note(unsafe ccurl_set_pointer(easy, CURLOPT_WRITEDATA, state))
            note(
                unsafe ccurl_set_receiver(
                    easy, CURLOPT_HEADERFUNCTION,
                    { unsafe receive($0, $1, $2, $3, isHead: true) }))
            note(
                unsafe ccurl_set_receiver(
                    easy, CURLOPT_WRITEFUNCTION,
                    { unsafe receive($0, $1, $2, $3, isHead: false) }))
            try checkOptions()
            guard unsafe curl_multi_add_handle(multi, easy) == CURLM_OK else {
                throw CofferError(.internalFailure, "libcurl did not accept the exchange.")
            }
            defer { unsafe curl_multi_remove_handle(multi, easy) }
            let failure = wait(isCancelled)
            if let refusal = collector.failure { throw refusal }
            return try collector.outcome(failure, isClosed: unsafe tls.pointee.is_closed != 0)
        }

        /// Waits until the exchange ends. Returns `nil` if the response is whole.
        private func wait(_ isCancelled: () -> Bool) -> CofferError? {
            var running: CInt = 1
            var hasRate = false
            while true {
                guard unsafe curl_multi_perform(multi, &running) == CURLM_OK else { break }
                guard running > 0 else { break }
                if !hasRate, collector.hasBegun {
                    applyRate()
                    hasRate = true
                }
                guard !isCancelled() else { return CurlFailure.cancelled }
                guard unsafe curl_multi_poll(multi, nil, 0, Self.step, nil) == CURLM_OK else { break }
            }
            var result = CURLE_FAILED_INIT
            _ = unsafe ccurl_result(multi, &result)
            guard result != CURLE_OK else { return nil }
            var number = 0
            _ = unsafe ccurl_get_long(easy, CURLINFO_OS_ERRNO, &number)
            let verification = unsafe tls.pointee.verification
            return CurlFailure.error(result, errno: number, of: plan, verification: verification)
        }
    }

    /// Hands received bytes to the collector. Returns a number other than the size if they were refused.
    private func receive(
        _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ state: UnsafeMutableRawPointer?,
        isHead: Bool
    ) -> Int {
        let total = size * count
        guard total > 0, let bytes = unsafe bytes, let state = unsafe state else { return 0 }
        let collector = unsafe Unmanaged<ResponseCollector>.fromOpaque(state).takeUnretainedValue()
        let start = unsafe UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt8.self)
        let span = unsafe Span<UInt8>(_unsafeStart: start, count: total)
        return collector.append(span, toHead: isHead) ? total : 0
    }

    extension Duration {
        /// The duration in milliseconds, at least 1.
        fileprivate var wholeMilliseconds: Int {
            let parts = components
            return max(
                1, Int(min(parts.seconds, 1 << 31)) * 1000 + Int(parts.attoseconds / 1_000_000_000_000_000))
        }
    }
#endif
