import CofferBase
import CofferEngine

/// A running wipe: its progress as a sequence, and the receipt at the end.
///
/// The wipe continues even if no task listens, and cancellation does not stop it.
///
/// ```swift
/// let wipe = vault.startWipe(reason: "lost device")
/// for await progress in wipe { show(progress.step, progress.completed, progress.total) }
/// let receipt = try await wipe.receipt
/// ```
public struct WipeOperation: AsyncSequence, Sendable {
    /// The progress of the wipe.
    public typealias Element = WipeProgress
    /// The sequence never throws; ``receipt`` throws the error of the wipe.
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

    /// The receipt at the end of the wipe. Throws if anything is provably left, or if the wipe failed.
    public var receipt: WipeReceipt {
        get async throws(CofferError) { try await result.value.get().complete() }
    }

    /// The receipt, even of an incomplete wipe, which ``WipeReceipt/failures`` describes; `nil` if the wipe
    /// failed before anything was changed.
    public var partialReceipt: WipeReceipt? {
        get async { try? await result.value.get().receipt }
    }

    /// Returns an iterator over the progress; only one task may iterate.
    public func makeAsyncIterator() -> AsyncStream<WipeProgress>.Iterator { progress.makeAsyncIterator() }
}
