#if SecretService
    import Coffer
    import CofferBase
    import CofferEngine
    import CofferTesting
    import TestSupport
    import Testing

    /// Questions to the user, on a service that lets a test answer them.
    @Suite("Questions of the Secret Service", .enabled { await FakeSecretService.isPossible() })
    struct PromptTests {
        private let name = ItemStorageContract.name(1)
        private let timeout = Duration.seconds(120)

        private func keyring(
            _ service: FakeSecretService, _ vaultID: VaultID,
            interaction: PromptPolicy = .allowed, promptLimit: Duration = .seconds(120)
        ) throws -> SecretServiceStorage {
            try SecretServiceStorage(
                tokensOf: vaultID,
                client: SecretServiceClient(
                    address: service.address, interaction: interaction, limit: timeout,
                    promptLimit: promptLimit))
        }

        /// Runs a blocking `body` on a thread of its own; returns the code of its error.
        private func code(
            _ body: @escaping @Sendable () throws(CofferError) -> Void
        ) async throws -> CofferError.Code? {
            await refusal { try await BlockingExecutor.run { _ throws(CofferError) in try body() } }?.code
        }

        @Test("The service opens a locked collection when the user agrees")
        func aLockedCollectionIsOpenedWhenTheUserAgrees() async throws {
            try await FakeSecretService.with { service in
                let name = name
                let keyring = try keyring(service, VaultID.random())
                #expect(try await code { () throws(CofferError) in try keyring.put([1], for: name) } == nil)
                try await service.lock()
                let read = try await BlockingExecutor.run { _ throws(CofferError) in
                    try keyring.envelope(name)
                }
                #expect(read == [1])
                #expect(try await service.promptCount() == 1)
                // It stays open, and what is absent is absent.
                let absent = ItemStorageContract.name(2)
                let none = try await BlockingExecutor.run { _ throws(CofferError) in
                    try keyring.envelope(absent)
                }
                #expect(none == nil)
                #expect(try await service.promptCount() == 1)
            }
        }

        @Test("A dismissed question is reported and changes nothing")
        func aDismissedQuestionIsSaidAndNothingIsChanged() async throws {
            try await FakeSecretService.with { service in
                let name = name
                let keyring = try keyring(service, VaultID.random())
                _ = try await code { () throws(CofferError) in try keyring.put([1], for: name) }
                try await service.lock()
                try await service.answerPrompts(.dismissed)
                let absent = ItemStorageContract.name(2)
                let codes = [
                    try await code { () throws(CofferError) in _ = try keyring.envelope(name) },
                    try await code { () throws(CofferError) in _ = try keyring.envelope(absent) },
                    try await code { () throws(CofferError) in _ = try keyring.envelopes() },
                    try await code { () throws(CofferError) in try keyring.put([2], for: name) },
                    try await code { () throws(CofferError) in try keyring.put([2], for: absent) },
                    try await code { () throws(CofferError) in try keyring.remove(name) },
                ]
                #expect(codes.allSatisfy { $0 == .promptDismissed }, "\(codes)")
                #expect(try await service.itemCount() == 1)
                #expect(try await service.promptCount() == 6)
                try await service.lock(false)
                let read = try await BlockingExecutor.run { _ throws(CofferError) in
                    try keyring.envelope(name)
                }
                #expect(read == [1])
            }
        }

        @Test("An unanswered question times out and is withdrawn")
        func aQuestionThatNobodyAnswersTimesOutAndIsTakenBack() async throws {
            try await FakeSecretService.with { service in
                let name = name
                let vaultID = try VaultID.random()
                let patient = try keyring(service, vaultID)
                _ = try await code { () throws(CofferError) in try patient.put([1], for: name) }
                try await service.lock()
                try await service.answerPrompts(.never)
                let keyring = try keyring(service, vaultID, promptLimit: .milliseconds(500))
                let late = try await code { () throws(CofferError) in _ = try keyring.envelope(name) }
                #expect(late == .timedOut)
                #expect(try await service.promptCount() == 1)
                try await service.answerPrompts(.completed)
                let read = try await BlockingExecutor.run { _ throws(CofferError) in
                    try keyring.envelope(name)
                }
                #expect(read == [1])
            }
        }

        @Test("The service asks the user nothing unless the policy allows it")
        func nobodyIsAskedUnlessItIsAllowed() async throws {
            try await FakeSecretService.with { service in
                let name = name
                let keyring = try keyring(service, VaultID.random(), interaction: .never)
                _ = try await code { () throws(CofferError) in try keyring.put([1], for: name) }
                try await service.lock()
                let read = try await code { () throws(CofferError) in _ = try keyring.envelope(name) }
                #expect(read == .keyringLocked)
                try await service.lock(false)
                try await service.askBeforeChanges()
                let other = ItemStorageContract.name(2)
                let made = try await code { () throws(CofferError) in try keyring.put([2], for: other) }
                let removed = try await code { () throws(CofferError) in try keyring.remove(name) }
                #expect(made == .keyringLocked && removed == .keyringLocked)
                #expect(try await service.itemCount() == 1)
                #expect(try await service.promptCount() == 0)
            }
        }

        @Test("The service may also ask before an item is made or removed")
        func makingAndRemovingMayAskToo() async throws {
            try await FakeSecretService.with { service in
                let name = name
                let keyring = try keyring(service, VaultID.random())
                try await service.askBeforeChanges()
                #expect(try await code { () throws(CofferError) in try keyring.put([1], for: name) } == nil)
                try await service.answerPrompts(.dismissed)
                let other = ItemStorageContract.name(2)
                let made = try await code { () throws(CofferError) in try keyring.put([2], for: other) }
                let removed = try await code { () throws(CofferError) in try keyring.remove(name) }
                #expect(made == .promptDismissed && removed == .promptDismissed)
                #expect(try await service.itemCount() == 1)
                try await service.answerPrompts(.completed)
                #expect(try await code { () throws(CofferError) in try keyring.remove(name) } == nil)
                #expect(try await service.itemCount() == 0)
            }
        }

        @Test("The user's time to answer does not count against the deadline")
        func answeringTakesNothingFromTheDeadline() {
            let start = Clock.sinceBoot
            let deadline = Deadline(.seconds(600))
            var asked = Duration.zero
            try? deadline.pausing { () throws(CofferError) in
                let start = Clock.sinceBoot
                Clock.sleep(for: .milliseconds(30))
                asked = Clock.sinceBoot - start
            }
            let left = deadline.remaining
            #expect(.seconds(600) - left <= Clock.sinceBoot - start - asked)
        }
    }
#endif
