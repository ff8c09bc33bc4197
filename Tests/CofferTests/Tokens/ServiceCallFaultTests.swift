#if SecretService
    import Coffer
    import CofferBase
    import CofferTesting
    import TestSupport
    import Testing

    /// A service that stops, dies or refuses in the middle of a call, at every call that a vault makes.
    @Suite("Faults in the middle of a call", .enabled { await FakeSecretService.isPossible() })
    struct ServiceCallFaultTests {
        private typealias Method = FakeSecretService.Method
        private let name = ItemStorageContract.name(1)

        /// An operation of a vault, and the calls that it makes for it.
        private enum Operation: CaseIterable {
            case read, readAll, make, replace, remove

            var methods: [Method] {
                switch self {
                case .read: [.openSession, .searchItems, .getSecret]
                case .readAll: [.searchItems, .getSecrets]
                case .make: [.searchItems, .readAlias, .createItem, .getSecret]
                case .replace: [.searchItems, .setSecret, .getSecret]
                case .remove: [.searchItems, .delete]
                }
            }

            /// The values that may be stored after it failed.
            var outcomes: [[UInt8]?] {
                switch self {
                case .read, .readAll: [[1]]
                case .make: [nil, [2]]
                case .replace: [[1], [2]]
                case .remove: [[1], nil]
                }
            }

            func run(_ keyring: SecretServiceStorage, _ name: [UInt8]) throws(CofferError) {
                switch self {
                case .read: _ = try keyring.envelope(name)
                case .readAll: _ = try keyring.envelopes()
                case .make, .replace: try keyring.put([2], for: name)
                case .remove: try keyring.remove(name)
                }
            }
        }

        private func keyring(
            _ service: FakeSecretService, _ vaultID: VaultID, limit: Duration = .seconds(120)
        ) throws -> SecretServiceStorage {
            try SecretServiceStorage(
                tokensOf: vaultID, client: SecretServiceClient(address: service.address, limit: limit))
        }

        /// Runs `operation` while `method` goes wrong; gives the code and what is stored afterwards.
        private func outcome(
            _ operation: Operation, _ method: Method, _ moment: FakeSecretService.Moment,
            _ mishap: FakeSecretService.Fault, on service: FakeSecretService,
            limit: Duration = .seconds(120),
            mending: () async throws -> Void
        ) async throws -> (code: CofferError.Code?, stored: [UInt8]?) {
            let name = name
            let vaultID = try VaultID.random()
            let sound = try keyring(service, vaultID)
            if operation != .make {
                try await BlockingExecutor.run { _ throws(CofferError) in try sound.put([1], for: name) }
            }
            let faulty = try keyring(service, vaultID, limit: limit)
            // The first call alone may say that a client is there.
            if method != .openSession {
                _ = try await BlockingExecutor.run { _ throws(CofferError) in try faulty.count() }
            }
            try await service.injectFault(method, moment, mishap)
            let code = await refusal {
                try await BlockingExecutor.run { _ throws(CofferError) in try operation.run(faulty, name) }
            }?.code
            try await mending()
            let another = try keyring(service, vaultID)
            let stored = try await BlockingExecutor.run { _ throws(CofferError) in try another.envelope(name)
            }
            // The one that failed goes on too.
            try await BlockingExecutor.run { _ throws(CofferError) in
                try faulty.put([3], for: name)
                try faulty.remove(name)
            }
            return (code, stored)
        }

        @Test("A refused call reports its error and leaves a valid state")
        func refused() async throws {
            try await FakeSecretService.with { service in
                for operation in Operation.allCases {
                    for method in operation.methods {
                        let mishap = FakeSecretService.Fault.fails("org.freedesktop.DBus.Error.NoMemory")
                        let (code, stored) = try await outcome(
                            operation, method, .before, mishap, on: service
                        ) {}
                        #expect(code == .noSpace, "\(operation) \(method)")
                        #expect(operation.outcomes.contains(stored), "\(operation) \(method)")
                    }
                }
            }
        }

        @Test(
            "A service that crashes during any call leaves a valid state",
            arguments: FakeSecretService.Moment.allCases)
        func killed(_ moment: FakeSecretService.Moment) async throws {
            try await FakeSecretService.with { service in
                for operation in Operation.allCases {
                    for method in operation.methods {
                        let (code, stored) = try await outcome(
                            operation, method, moment, .crashes, on: service
                        ) { try await service.restart() }
                        #expect(
                            code == .interrupted || code == .noSecretService, "\(operation) \(method)")
                        #expect(operation.outcomes.contains(stored), "\(operation) \(method)")
                    }
                }
            }
        }

        @Test(
            "A service that hangs during a call times out and leaves a valid state",
            arguments: FakeSecretService.Moment.allCases)
        func stopped(_ moment: FakeSecretService.Moment) async throws {
            try await FakeSecretService.with { service in
                for (operation, method) in [
                    (Operation.read, Method.getSecret), (.make, .createItem), (.replace, .setSecret),
                    (.remove, .delete),
                ] {
                    let (code, stored) = try await outcome(
                        operation, method, moment, .hangs, on: service, limit: .seconds(4)
                    ) { service.resume() }
                    #expect(code == .timedOut, "\(operation) \(method)")
                    #expect(operation.outcomes.contains(stored), "\(operation) \(method)")
                }
            }
        }

        @Test("A missing default collection hides no existing item")
        func noDefaultCollectionHidesNoItem() async throws {
            try await FakeSecretService.with { service in
                let name = name
                let keyring = try keyring(service, VaultID.random())
                try await BlockingExecutor.run { _ throws(CofferError) in try keyring.put([1], for: name) }
                try await service.setDefaultCollection(false)
                let read = try await BlockingExecutor.run { _ throws(CofferError) in
                    try keyring.envelope(name)
                }
                #expect(read == [1])
                let other = ItemStorageContract.name(2)
                let code = await refusal {
                    try await BlockingExecutor.run { _ throws(CofferError) in try keyring.put([2], for: other)
                    }
                }?.code
                #expect(code == .noDefaultCollection)
                #expect(try await service.itemCount() == 1)
            }
        }

        @Test("A vault reports changes that other programs made to its items")
        func aVaultSaysWhatOthersDid() async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(service: service) { temporary in
                    let id = try TokenID(service: "s", account: "a")
                    try await temporary.vault.tokens.put(Token(copying: "x"), for: id)
                    try await service.duplicateItems()
                    // A session that has read the item keeps reading it; a change or a new session fails.
                    #expect(try await temporary.vault.tokens.info(for: id)?.version == 1)
                    let error = await refusal {
                        try await temporary.vault.tokens.put(Token(copying: "y"), for: id)
                    }
                    #expect(error?.code == .ambiguous && error?.entries.count == 2)
                    #expect(await refusal { _ = try await temporary.openAnother() }?.code == .ambiguous)
                    try await service.removeItems()
                    #expect(try await temporary.vault.tokens.info(for: id) == nil)
                    // Without its device key the vault does not open, and no new one is made for it.
                    #expect(
                        await refusal { _ = try await temporary.openAnother() }?.code == .keyringUnavailable)
                    #expect(try await service.itemCount() == 0)
                }
            }
        }
    }
#endif
