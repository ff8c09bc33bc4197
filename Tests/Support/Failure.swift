package import CofferBase

/// The code that `body` fails with; `nil` when it succeeds or throws something else.
package func failure(of body: () throws -> Void) -> CofferError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? CofferError)?.code
    }
}
