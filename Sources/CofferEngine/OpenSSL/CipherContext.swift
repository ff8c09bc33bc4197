import COpenSSL
import CofferBase

/// The owner of an `EVP_CIPHER_CTX`, which is freed, and thereby cleared, when the owner is released.
///
/// The `@unchecked Sendable` conformance is safe because every user is a noncopyable struct that reaches the
/// context through exclusive access.
@safe final class CipherContext: @unchecked Sendable {
    let pointer: OpaquePointer

    /// The maximum size of the pieces in which longer inputs are processed. OpenSSL represents lengths as
    /// `Int32`.
    private let largestPiece: Int
    static let defaultPiece = 1 << 30

    private init(_ pointer: OpaquePointer, largestPiece: Int) {
        unsafe self.pointer = pointer
        self.largestPiece = largestPiece
    }

    static func make(largestPiece: Int = defaultPiece) throws(CofferError) -> CipherContext {
        precondition((1...Int(Int32.max)).contains(largestPiece))
        guard let pointer = unsafe EVP_CIPHER_CTX_new() else {
            throw OpenSSLFailure.unexpected("EVP_CIPHER_CTX_new")
        }
        return unsafe CipherContext(pointer, largestPiece: largestPiece)
    }

    deinit { unsafe EVP_CIPHER_CTX_free(pointer) }

    /// Runs `EVP_CipherUpdate` over all of `input` and writes the result to `output`. Returns the number of
    /// bytes written, or `nil` if OpenSSL fails.
    func update(input: UnsafeRawBufferPointer, output: UnsafeMutablePointer<UInt8>?) -> Int? {
        var read = 0
        var written = 0
        while read < input.count {
            let piece = min(input.count - read, largestPiece)
            var count: Int32 = 0
            let source = unsafe input.baseAddress.map { unsafe $0.assumingMemoryBound(to: UInt8.self) + read }
            let target = unsafe output.map { unsafe $0 + written }
            guard unsafe EVP_CipherUpdate(pointer, target, &count, source, Int32(piece)) == 1 else {
                return nil
            }
            read += piece
            written += Int(count)
        }
        return written
    }
}
