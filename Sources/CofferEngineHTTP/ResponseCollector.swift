#if OAuth
    import CofferBase
    import CofferEngine

    /// The bytes of a response, collected in guarded memory while they arrive.
    final class ResponseCollector {
        private var head: GuardedBuffer
        private var body: GuardedBuffer
        /// The reason why a byte was refused.
        private(set) var failure: CofferError?
        /// Whether the first byte has come.
        private(set) var hasBegun = false

        init(_ plan: HTTPPlan) throws(CofferError) {
            let head = try GuardedBuffer.make(limit: plan.headLimit)
            let body = try GuardedBuffer.make(limit: plan.bodyLimit)
            self.head = head
            self.body = body
        }

        /// Appends bytes of the head or the body. Returns whether they were accepted.
        func append(_ bytes: Span<UInt8>, toHead isHead: Bool) -> Bool {
            hasBegun = true
            do throws(CofferError) {
                if isHead { try head.append(bytes) } else { try body.append(bytes) }
                return true
            } catch {
                let part = isHead ? "header" : "body"
                failure =
                    error.code == .outOfMemory
                    ? error
                    : CofferError(.serverMalformed, "The \(part) of the server's response is too long.")
                return false
            }
        }

        /// Returns a copy of what came.
        func outcome(_ failure: CofferError?, isClosed: Bool) throws(CofferError) -> HTTPOutcome {
            HTTPOutcome(
                head: try head.contents(), body: try body.contents(), isClosed: isClosed, failure: failure)
        }
    }
#endif
