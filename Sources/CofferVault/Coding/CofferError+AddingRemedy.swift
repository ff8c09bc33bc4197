package import CofferBase

extension CofferError {
    /// Runs `body` and adds `remedy` to any `corrupt` error that `body` throws. If `remedy` is `nil`, the
    /// error keeps its own remedy.
    package static func addingRemedy<Result: ~Copyable>(
        _ remedy: Remedy?, _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        do throws(CofferError) {
            return try body()
        } catch {
            guard error.code == .corrupt else { throw error }
            throw CofferError(.corrupt, error.message, remedy: remedy ?? error.remedy)
        }
    }
}
