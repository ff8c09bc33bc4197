import CCoffer
import CofferBase

/// Writes errors into the structure of a C caller, which may be older than this library and then smaller.
enum ErrorReport {
    /// Reports success.
    static func clear(_ error: UnsafeMutablePointer<coffer_error>?) {
        unsafe write(error) { (report) in
            report.code = COFFER_OK
            report.attempts_left = -1
            report.retry_after_ms = -1
        }
    }

    /// Reports a failure.
    static func write(
        _ failure: CofferError, code: Int32, name: String, to error: UnsafeMutablePointer<coffer_error>?
    ) {
        unsafe write(error) { (report) in
            report.code = code
            report.attempts_left = Int32(clamping: failure.attemptsLeft ?? -1)
            report.retry_after_ms =
                failure.retryAfter.map { wait in
                    let (seconds, attoseconds) = wait.components
                    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
                } ?? -1
            unsafe withUnsafeMutableBytes(of: &report.name) { unsafe copy(name, to: $0) }
            unsafe withUnsafeMutableBytes(of: &report.message) { unsafe copy(failure.message, to: $0) }
        }
    }

    /// Fills a new report and copies as much of it as the caller's structure has room for.
    private static func write(
        _ error: UnsafeMutablePointer<coffer_error>?, _ fill: (inout coffer_error) -> Void
    ) {
        guard let error = unsafe error else { return }
        let size = unsafe min(error.pointee.size, MemoryLayout<coffer_error>.size)
        guard size > MemoryLayout<Int>.size else { return }
        var report = coffer_error()
        fill(&report)
        unsafe report.size = error.pointee.size
        unsafe withUnsafeBytes(of: &report) { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe UnsafeMutableRawPointer(error).copyMemory(from: start, byteCount: size)
        }
    }

    /// Copies text and a NUL byte; cuts the text between two characters if it is too long.
    private static func copy(_ text: String, to field: UnsafeMutableRawBufferPointer) {
        // Not bytes: a character of several bytes is left out whole.
        var count = 0
        for scalar in text.unicodeScalars {
            let next = count + UTF8.width(scalar)
            guard next < field.count else { break }
            count = next
        }
        for (index, byte) in text.utf8.prefix(count).enumerated() { unsafe field[index] = byte }
        unsafe field[count] = 0
    }
}
