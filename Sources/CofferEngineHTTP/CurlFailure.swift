#if OAuth
    import CCurl
    import CofferBase

    /// The errors of libcurl in this package's terms.
    enum CurlFailure {
        /// Returns the error for a result other than `CURLE_OK`.
        ///
        /// - Parameters:
        ///   - code: The result of a transfer.
        ///   - number: The `errno` of the connection that failed; 0 for none.
        ///   - plan: The plan of the transfer, of which only the host appears in the message.
        ///   - verification: OpenSSL's result of the verification of the server's certificate.
        /// - Returns: The error.
        static func error(
            _ code: CURLcode, errno number: Int, of plan: HTTPPlan? = nil, verification: Int = 0
        ) -> CofferError {
            let server = plan.map { "server \(host(of: $0.url))" } ?? "server"
            let way = plan?.proxy == nil ? "" : " through the proxy"
            let system = number == 0 ? nil : Int32(truncatingIfNeeded: number)
            switch code {
            case CURLE_PEER_FAILED_VERIFICATION,
                CURLE_SSL_CONNECT_ERROR where verification != 0:
                let (reason, remedy) = reason(verification)
                return CofferError(
                    .certificateRefused,
                    "The secure connection to the \(server) was refused\(way): \(reason).", remedy: remedy)
            case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
                CURLE_PROXY:
                return CofferError(
                    .serverUnreachable, "The \(server) could not be reached\(way): \(text(code)).",
                    systemError: system)
            case CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
                CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND, CURLE_UNRECOVERABLE_POLL:
                return CofferError(
                    .serverUnreachable, "The connection to the \(server) failed\(way): \(text(code)).",
                    systemError: system)
            case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
                return CofferError(
                    .certificateRefused,
                    "The secure connection to the \(server) was refused\(way): its public key is none of "
                        + "those that are pinned.")
            case CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CLIENTCERT:
                return CofferError(
                    .certificateRefused,
                    "The secure connection to the \(server) was refused\(way): \(text(code)).")
            default: return otherError(code, server)
            }
        }

        /// Returns why a server's certificate was refused, and what may help. The numbers are OpenSSL's
        /// (`x509_vfy.h`). OpenSSL does not say which certificate of the chain it refused. For 0 it refused
        /// none: libcurl compares the host's name afterwards.
        private static func reason(_ verification: Int) -> (String, CofferError.Remedy?) {
            switch verification {
            case 0: ("its certificate is not for this host", nil)
            case 7:
                (
                    "its certificate is not signed by the authority that it names, whose key may be new",
                    .trustAuthority
                )
            case 9:
                (
                    "its certificate, or that of its authority, is not valid yet. Check the clock of this "
                        + "machine", nil
                )
            case 10: ("its certificate, or that of its authority, has expired", nil)
            case 18: ("its certificate is self-signed", .trustAuthority)
            case 19, 20, 21, 2: ("its certificate comes from an unknown authority", .trustAuthority)
            default: ("OpenSSL does not accept its certificate (\(description(verification)))", nil)
            }
        }

        /// Returns OpenSSL's text for a result of a verification, which contains nothing of the certificate.
        private static func description(_ verification: Int) -> String {
            guard let text = unsafe X509_verify_cert_error_string(verification) else {
                return "error \(verification)"
            }
            return unsafe String(cString: text)
        }

        /// Returns the host and port of a URL. The rest of a URL may be secret.
        private static func host(of url: String) -> String {
            let rest = url.utf8.dropFirst("https://".utf8.count)
            return String(
                decoding: rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }, as: UTF8.self)
        }

        private static func otherError(_ code: CURLcode, _ server: String) -> CofferError {
            switch code {
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING,
                CURLE_FILESIZE_EXCEEDED, CURLE_WRITE_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
                return CofferError(.serverMalformed, "The server's response is malformed: \(text(code)).")
            case CURLE_OPERATION_TIMEDOUT:
                return CofferError(.timedOut, "The \(server) did not respond in time.")
            case CURLE_ABORTED_BY_CALLBACK: return cancelled
            case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER, CURLE_SSL_CRL_BADFILE:
                return CofferError(
                    .invalidInput, "A certificate or key for the secure connection is invalid: \(text(code))."
                )
            case CURLE_URL_MALFORMAT: return CofferError(.invalidInput, "The URL is invalid.")
            case CURLE_OUT_OF_MEMORY:
                return CofferError(.outOfMemory, "There is not enough memory for the connection.")
            default:
                return CofferError(
                    .internalFailure, "The exchange with the server failed: \(text(code)).")
            }
        }

        /// The error for an exchange that the caller cancelled.
        static var cancelled: CofferError {
            CofferError(.cancelled, "The exchange with the server was cancelled.")
        }

        /// Returns libcurl's description of a result, which contains nothing that a server sent.
        private static func text(_ code: CURLcode) -> String {
            guard let text = unsafe curl_easy_strerror(code) else { return "error \(code.rawValue)" }
            return unsafe String(cString: text)
        }
    }
#endif
