import CofferBase
import COpenSSL

/// Names and times in certificates, in the forms that people and programs read.
enum CertificateContents {
    /// `XN_FLAG_RFC2253` without `ASN1_STRFLGS_ESC_MSB`, so that letters beyond ASCII stay UTF-8. Both are
    /// macros of macros.
    private static let nameFlags: UInt = 0x1 | 0x2 | 0x10 | 0x100 | 0x200 | 0x1_0000 | 0x10_0000 | 0x100_0000
    /// The value of `NID_subject_alt_name`.
    private static let alternativeName: Int32 = 85
    /// The number of alternative names that are read.
    private static let mostNames = 100

    /// Returns a name in the form of RFC 4514.
    static func name(_ name: OpaquePointer) throws(CofferError) -> String {
        unsafe try text { unsafe X509_NAME_print_ex($0, name, 0, nameFlags) >= 0 }
    }

    /// Returns a time in seconds since 1970.
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) throws(CofferError) -> Int64 {
        guard let epoch = unsafe ASN1_TIME_set(nil, 0) else {
            throw OpenSSLFailure.unexpected("ASN1_TIME_set")
        }
        defer { unsafe ASN1_TIME_free(epoch) }
        var (days, seconds): (Int32, Int32) = (0, 0)
        guard let time = unsafe time, unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else {
            ERR_clear_error()
            throw CofferError(.invalidInput, "The certificate contains a time that cannot be read.")
        }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    /// Returns the subject's alternative names.
    static func alternativeNames(of certificate: OpaquePointer) throws(CofferError) -> [String] {
        guard let found = unsafe X509_get_ext_d2i(certificate, alternativeName, nil, nil) else { return [] }
        let names = OpaquePointer(found)
        defer { unsafe GENERAL_NAMES_free(names) }
        let count = unsafe min(Int(OPENSSL_sk_num(names)), mostNames)
        return try (0..<max(count, 0)).map { (index) throws(CofferError) in
            let name = unsafe OPENSSL_sk_value(names, Int32(index))?
                .assumingMemoryBound(to: GENERAL_NAME.self)
            return unsafe try text { unsafe GENERAL_NAME_print($0, name) == 1 }
        }
    }

    /// Returns the text that a function of OpenSSL's prints.
    private static func text(_ write: (OpaquePointer) -> Bool) throws(CofferError) -> String {
        guard let file = unsafe BIO_new(BIO_s_mem()) else { throw OpenSSLFailure.unexpected("BIO_new") }
        defer { unsafe BIO_free(file) }
        guard unsafe write(file) else { throw OpenSSLFailure.unexpected("X509_NAME_print_ex") }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1024)
        while true {
            let count = unsafe BIO_read(file, &part, Int32(part.count))
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += part[..<Int(count)]
        }
    }
}
