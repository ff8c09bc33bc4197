#pragma once
// The checks are macros for C, and so are the names that they replace.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

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

// A socket that programs started meanwhile do not inherit. libcurl's own sockets are open in them.
static inline curl_socket_t ccurl_open_socket(void *state, curlsocktype purpose,
                                              struct curl_sockaddr *address) {
    (void)state;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode ccurl_close_sockets_in_children(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, ccurl_open_socket);
}

// The data for TLS in an exchange: a client's certificates in PEM, its own first, and its key, an EVP_PKEY,
// or null. And from it: whether the server closed the stream, and why the server's certificate was refused.
typedef struct {
    const void *certificates;
    size_t count;
    void *key;
    int is_closed;
    long verification;
} ccurl_tls;

// Returns whether the context took every certificate of a client.
static inline int ccurl_use_certificates(SSL_CTX *context, const ccurl_tls *client) {
    if (client->count == 0 || client->count > INT_MAX) return 0;
    BIO *text = BIO_new_mem_buf(client->certificates, (int)client->count);
    if (text == NULL) return 0;
    // An empty passphrase: OpenSSL would ask for one at the terminal.
    X509 *certificate = PEM_read_bio_X509(text, NULL, NULL, (void *)"");
    int used = certificate != NULL && SSL_CTX_use_certificate(context, certificate) == 1;
    X509_free(certificate);
    while (used && (certificate = PEM_read_bio_X509(text, NULL, NULL, (void *)"")) != NULL) {
        used = SSL_CTX_add1_chain_cert(context, certificate) == 1;
        X509_free(certificate);
    }
    // The end of the text is an error, too.
    if (used) used = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    BIO_free(text);
    return used;
}

// Notes the message by which a server closes a stream: close_notify, whose number is 0. Before this side
// sends a message of its own, notes OpenSSL's reason for refusing the server's certificate: libcurl does not
// tell a certificate with a wrong signature from a connection that failed.
static inline void ccurl_note_alert(const SSL *stream, int event, int alert) {
    ccurl_tls *tls = (ccurl_tls *)SSL_CTX_get_app_data(SSL_get_SSL_CTX(stream));
    if (tls == NULL) return;
    if (event == SSL_CB_WRITE_ALERT) tls->verification = SSL_get_verify_result(stream);
    if (event == SSL_CB_READ_ALERT && (alert & 0xff) == SSL_AD_CLOSE_NOTIFY) tls->is_closed = 1;
}

// Prepares OpenSSL's part of a connection: it clears what it decrypted, tells the end of a stream from a
// connection that was cut (libcurl itself does not), writes no session keys, whatever SSLKEYLOGFILE says, and
// has the certificate of the client, if there is one.
static inline CURLcode ccurl_prepare_tls(CURL *handle, void *context, void *parameter) {
    (void)handle;
    SSL_CTX *made = (SSL_CTX *)context;
    ccurl_tls *tls = (ccurl_tls *)parameter;
    SSL_CTX_set_options(made, SSL_OP_CLEANSE_PLAINTEXT);
    SSL_CTX_clear_options(made, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_keylog_callback(made, NULL);
    SSL_CTX_set_app_data(made, tls);
    SSL_CTX_set_info_callback(made, ccurl_note_alert);
    if (tls->key == NULL) return CURLE_OK;
    ERR_clear_error();
    // The key last: OpenSSL compares it with the certificate.
    int used = ccurl_use_certificates(made, tls) && SSL_CTX_use_PrivateKey(made, (EVP_PKEY *)tls->key) == 1;
    ERR_clear_error();
    return used ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

// `tls` must stay where it is until the handle is gone.
static inline CURLcode ccurl_set_tls_preparation(CURL *handle, ccurl_tls *tls) {
    CURLcode status = curl_easy_setopt(handle, CURLOPT_SSL_CTX_DATA, tls);
    if (status != CURLE_OK) return status;
    return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, ccurl_prepare_tls);
}
