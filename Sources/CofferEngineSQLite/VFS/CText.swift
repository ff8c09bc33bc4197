import Glibc

/// A namespace for functions that read C strings from SQLite.
enum CText {
    /// Returns the bytes up to the terminating NUL, which need not be valid UTF-8.
    static func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
}
