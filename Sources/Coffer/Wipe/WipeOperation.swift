import CofferBase
import CofferEngine

/// A wipe under way: its progress as a sequence, and the receipt when it is done.
///
/// It goes on whether anybody listens or not, and no cancellation stops it.
///
/// ```swift
/// let wipe = session.startWipe(reason: "lost device")
/// for await progress in wipe { show(progress.step, progress.completed, progress.total) }
/// let receipt = try await wipe.receipt
/// ```
public struct WipeOperation: AsyncSequence, Sendable {
    /// What comes out.
    public typealias Element = WipeProgress
    /// Nothing goes wrong in the sequence: what does is thrown by ``receipt``.
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

    /// The receipt, when the wipe is done. Throws when anything is provably still there.
    public var receipt: WipeReceipt {
        get async throws(CofferError) { try await result.value.get().complete() }
    }

    /// The receipt also of a wipe that left something, which ``WipeReceipt/failures`` names; `nil` when it
    /// ended before anything was touched.
    public var partialReceipt: WipeReceipt? {
        get async { try? await result.value.get().receipt }
    }

    /// The progress; one task may listen.
    public func makeAsyncIterator() -> AsyncStream<WipeProgress>.Iterator { progress.makeAsyncIterator() }
}
