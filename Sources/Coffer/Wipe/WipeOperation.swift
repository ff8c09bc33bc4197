import CofferBase
import CofferEngine

/// A running wipe, which reports its progress as a sequence and provides a receipt at the end.
///
/// The wipe continues even if no task iterates over the sequence, and cancellation does not stop it.
///
/// ```swift
/// let wipe = vault.startWipe(reason: "lost device")
/// for await progress in wipe { show(progress.step, progress.completed, progress.total) }
/// let receipt = try await wipe.receipt
/// ```
public struct WipeOperation: AsyncSequence, Sendable {
    /// The sequence's elements, which report the wipe's progress.
    public typealias Element = WipeProgress
    /// The sequence's error type: the sequence never throws, whereas ``receipt`` throws the wipe's error.
    public typealias Failure = Never

    private let progress: AsyncStream<WipeProgress>
    private let result: Task<Result<WipeEnd, CofferError>, Never>

    init(
        _ body:
            @escaping @Sendable (
                _ report: @escaping @Sendable (WipeProgress) -> Void
            ) async throws(CofferError) -> WipeEnd
    ) {
        let (stream, continuation) = AsyncStream.makeStream(of: WipeProgress.self)
        progress = stream
        result = Task(executorPreference: MainExecutor.current) {
            defer { continuation.finish() }
            do throws(CofferError) {
                return .success(try await body { continuation.yield($0) })
            } catch {
                return .failure(error)
            }
        }
    }

    /// The receipt, available once the wipe has ended. Throws an error if anything is provably left or if the
    /// wipe failed.
    public var receipt: WipeReceipt {
        get async throws(CofferError) { try await result.value.get().complete() }
    }

    /// The receipt, even if the wipe is incomplete, in which case ``WipeReceipt/failures`` lists what is
    /// left; `nil` if a wipe of the tokens failed, or if any other wipe failed before anything on the disk
    /// was changed.
    public var partialReceipt: WipeReceipt? {
        get async { try? await result.value.get().receipt }
    }

    /// Returns an iterator over the wipe's progress. Only one task may iterate.
    public func makeAsyncIterator() -> AsyncStream<WipeProgress>.Iterator { progress.makeAsyncIterator() }
}
