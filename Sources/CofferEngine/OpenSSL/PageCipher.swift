import COpenSSL
import CofferBase

/// AES-GCM for the pages of an open file, which one thread at a time seals and opens.
///
/// ``AEADCipher`` reaches its context by exclusive access, which a class that contains it must have checked
/// at run time. This class reads pages without that check, and is therefore not `Sendable`.
package final class PageCipher {
    private let context: CipherContext

    /// Creates a cipher with the key and the algorithm of `cipher`.
    package init(_ cipher: consuming AEADCipher) { context = cipher.context }

    /// Replaces the ciphertext, which is all of `page`, with the plaintext. If the tag is invalid, clears
    /// `page` and returns `false`.
    package func open(
        _ page: inout MutableSpan<UInt8>, tag: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>
    ) -> Bool {
        let context = context.handle
        let count = page.count
        guard tag.count == AEADCipher.tagSize, nonce.count == AEADCipher.nonceSize,
            AEADCipher.startOpening(context, tag: tag, nonce: nonce, associatedData: associatedData),
            unsafe page.withPointer({ start in
                unsafe AEADCipher.finishOpening(
                    UnsafeRawBufferPointer(start: start, count: count), into: start, context)
            })
        else {
            ERR_clear_error()
            page.clear()
            return false
        }
        return true
    }

    /// Writes the ciphertext, which is as long as the plaintext, to `output` and the 16-byte tag to `tag`.
    /// Returns `false` if a size is wrong or OpenSSL fails.
    package func seal(
        _ page: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>, tag: inout MutableSpan<UInt8>
    ) -> Bool {
        let context = context.handle
        guard output.count == page.count, tag.count == AEADCipher.tagSize,
            nonce.count == AEADCipher.nonceSize,
            AEADCipher.startSealing(context, nonce: nonce, associatedData: associatedData)
        else { return false }
        return unsafe tag.withPointer { tag in
            unsafe output.withPointer { output in
                unsafe page.withUnsafeBytes {
                    unsafe AEADCipher.finishSealing($0, into: output, tag: tag, context)
                }
            }
        }
    }
}
