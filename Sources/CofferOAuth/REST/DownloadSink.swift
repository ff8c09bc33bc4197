public import CofferBase

/// A destination for the body of a response that is too large for memory.
///
/// Calls come in this order: ``write(_:)`` any number of times, then exactly one of ``finish()`` and
/// ``discard()``.
public protocol DownloadSink: AnyObject, Sendable {
    /// Appends bytes.
    ///
    /// - Parameter bytes: The next bytes of the body, valid only during the call.
    /// - Throws: The error that ends the download.
    func write(_ bytes: Span<UInt8>) throws(CofferError)

    /// Keeps what was written: the body arrived completely with a status of success.
    ///
    /// - Throws: The error because of which nothing was kept.
    func finish() throws(CofferError)

    /// Removes what was written: the body is incomplete or an error document.
    func discard()
}
