import Glibc

/// Text as SQLite hands it over.
enum CText {
    /// The bytes up to the zero at the end, whether they are UTF-8 or not.
    static func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
}
