import Glibc

/// Text as SQLite passes it.
enum CText {
    /// Returns the bytes up to the terminating zero, whether they are UTF-8 or not.
    static func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
}
