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
        unsafe handle.update(input: input, output: output)
    }

    /// The context for calls that must not count references, which for a short message take as long as the
    /// cipher. It is valid as long as the owner.
    var handle: Handle { unsafe Handle(pointer: pointer, largestPiece: largestPiece) }

    /// A context that somebody else owns.
    @safe struct Handle {
        let pointer: OpaquePointer
        fileprivate let largestPiece: Int

        /// Does what ``CipherContext/update(input:output:)`` does.
        @inline(__always)
        func update(input: UnsafeRawBufferPointer, output: UnsafeMutablePointer<UInt8>?) -> Int? {
            guard input.count > largestPiece else { return unsafe updatePiece(input, output) }
            return unsafe updatePieces(input, output)
        }

        @inline(__always)
        private func updatePiece(
            _ input: UnsafeRawBufferPointer, _ output: UnsafeMutablePointer<UInt8>?
        ) -> Int? {
            guard let start = input.baseAddress, input.count > 0 else { return 0 }
            var count: Int32 = 0
            let source = unsafe start.assumingMemoryBound(to: UInt8.self)
            guard unsafe EVP_CipherUpdate(pointer, output, &count, source, Int32(input.count)) == 1 else {
                return nil
            }
            return Int(count)
        }

        private func updatePieces(
            _ input: UnsafeRawBufferPointer, _ output: UnsafeMutablePointer<UInt8>?
        ) -> Int? {
            var read = 0
            var written = 0
            while read < input.count {
                let end = min(input.count, read + largestPiece)
                let piece = unsafe UnsafeRawBufferPointer(rebasing: input[read..<end])
                guard let count = unsafe updatePiece(piece, output.map { unsafe $0 + written }) else {
                    return nil
                }
                read = end
                written += count
            }
            return written
        }
    }
}
