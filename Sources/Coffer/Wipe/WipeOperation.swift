import CofferBase
import CofferEngine

/// A running wipe: its progress as a sequence, and the receipt at the end.
///
/// It continues even if no task listens, and cancellation does not stop it.
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

    /// The receipt, at the end of the wipe. Throws if anything is provably still there.
    public var receipt: WipeReceipt {
        get async throws(CofferError) { try await result.value.get().complete() }
    }

    /// The receipt, also of a wipe that left something, which ``WipeReceipt/failures`` names; `nil` if the
    /// wipe ended before anything was changed.
    public var partialReceipt: WipeReceipt? {
        get async { try? await result.value.get().receipt }
    }

    /// The progress; only one task may iterate.
    public func makeAsyncIterator() -> AsyncStream<WipeProgress>.Iterator { progress.makeAsyncIterator() }
}
