#pragma once
// The checks are macros for C, and so are the names that they replace.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <openssl/ssl.h>

// Constants whose macros Swift does not import.
static const long ccurl_global_default = CURL_GLOBAL_DEFAULT;
static const long ccurl_http_1_1 = CURL_HTTP_VERSION_1_1;
static const long ccurl_tls_1_2 = CURL_SSLVERSION_TLSv1_2;
static const long ccurl_separate_fields = CURLHEADER_SEPARATE;
static const long ccurl_basic_authentication = (long)CURLAUTH_BASIC;

static inline const char *ccurl_version(void) { return curl_version_info(CURLVERSION_NOW)->version; }

// Returns the name and version of the library for TLS, or null if there is none.
static inline const char *ccurl_tls_version(void) { return curl_version_info(CURLVERSION_NOW)->ssl_version; }

// Swift cannot call functions with a variable number of arguments. Each wrapper takes one type of argument.

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

// The bytes must stay where they are until the handle is gone: they are not copied.
static inline CURLcode ccurl_set_blob(CURL *handle, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_NOCOPY};
    return curl_easy_setopt(handle, option, &blob);
}

static inline CURLcode ccurl_set_receiver(CURL *handle, CURLoption option, curl_write_callback function) {
    return curl_easy_setopt(handle, option, function);
}

static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO information, long *value) {
    return curl_easy_getinfo(handle, information, value);
}

// Stores how the transfer of the only handle ended. Returns 0 if it has not ended.
static inline int ccurl_result(CURLM *handles, CURLcode *result) {
    int left = 0;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(handles, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return 1;
        }
    }
    return 0;
}

// Prepares OpenSSL's part of a connection: it clears what it decrypted, takes the end of a connection for the
// end of the stream (HTTP's framing tells whether something is missing), and writes no session keys, whatever
// SSLKEYLOGFILE says.
static inline CURLcode ccurl_prepare_tls(CURL *handle, void *context, void *parameter) {
    (void)handle;
    (void)parameter;
    SSL_CTX_set_options((SSL_CTX *)context, SSL_OP_CLEANSE_PLAINTEXT | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_keylog_callback((SSL_CTX *)context, NULL);
    return CURLE_OK;
}

static inline CURLcode ccurl_set_tls_preparation(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, ccurl_prepare_tls);
}
