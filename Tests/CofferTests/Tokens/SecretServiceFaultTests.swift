import CofferDBus
#if SecretService
    import Coffer
    import CofferBase
    import CofferEngine
    import Foundation
    import TestSupport
    import Testing

    /// Faults of a Secret Service: each has its own code, and none loses anything.
    @Suite("Faults of the Secret Service")
    struct SecretServiceFaultTests {
        private let name = ItemStorageContract.name(1)

        /// A keyring of a vault, patient where nothing is to run out of time.
        private func open(
            _ address: String?, _ vaultID: VaultID, interaction: PromptPolicy = .never,
            limit: Duration = .seconds(60)
        ) throws -> SecretServiceStorage {
            try SecretServiceStorage(
                tokensOf: vaultID,
                client: SecretServiceClient(address: address, interaction: interaction, limit: limit))
        }

        /// The errors of every operation; the last of them stores.
        private func failures(_ keyring: SecretServiceStorage) -> [CofferError.Code?] {
            [
                failure { _ = try keyring.envelope(name) }, failure { _ = try keyring.envelopes() },
                failure { try keyring.remove(name) }, failure { try keyring.put([1], for: name) },
            ]
        }

        @Test("Without a session bus, every operation reports it")
        func noBus() throws {
            let vaultID = try VaultID.random()
            for address in [
                "unix:path=/nonexistent/bus", "unix:abstract=coffer-nobody-\(vaultID)", "nonsense",
            ] {
                let keyring = try open(address, vaultID)
                #expect(failures(keyring) == [.noSessionBus, .noSessionBus, .noSessionBus, .noSessionBus])
            }
        }

        @Test("Without a Secret Service on the bus, every operation reports it")
        func aBusWithoutAService() throws {
            let bus = try #require(try PrivateKeyring(running: false))
            let keyring = try open(bus.address, VaultID.random())
            #expect(
                failures(keyring) == [.noSecretService, .noSecretService, .noSecretService, .noSecretService])
        }

        @Test("A missing default collection is reported and not created")
        func noDefaultCollection() throws {
            let service = try #require(try PrivateKeyring(.missing))
            let keyring = try open(service.address, VaultID.random())
            #expect(failure { _ = try keyring.envelope(name) } == .noDefaultCollection)
            #expect(failure { try keyring.put([1], for: name) } == .noDefaultCollection)
            // None was made.
            #expect(failure { _ = try keyring.envelope(name) } == .noDefaultCollection)
        }

        @Test("A locked collection is reported as locked, hides nothing and stays locked")
        func aLockedCollectionHidesNothingAndStaysLocked() throws {
            let service = try #require(try PrivateKeyring())
            let vaultID = try VaultID.random()
            let keyring = try open(service.address, vaultID)
            try keyring.put([1, 2], for: name)
            try service.lock()
            #expect(
                failures(keyring) == [.keyringLocked, .keyringLocked, .keyringLocked, .keyringLocked])
            // What is not there may be hidden.
            #expect(failure { _ = try keyring.envelope(ItemStorageContract.name(2)) } == .keyringLocked)
            #expect(try keyring.count() == 1)
            // No prompter is available on this bus.
            let asking = try open(service.address, vaultID, interaction: .allowed)
            #expect(failure { _ = try asking.envelope(name) } == .noPrompter)
            try service.restart()
            #expect(try keyring.envelope(name) == [1, 2])
        }

        @Test("A stopped service times out and works again when it resumes")
        func aStoppedServiceTimesOutAndGoesOn() throws {
            let service = try #require(try PrivateKeyring())
            let vaultID = try VaultID.random()
            let keyring = try open(service.address, vaultID)
            try keyring.put([1], for: name)
            service.stop()
            defer { service.resume() }
            let hasty = try open(service.address, vaultID, limit: .milliseconds(500))
            #expect(failure { _ = try hasty.envelope(name) } == .timedOut)
            #expect(failure { try hasty.put([2], for: name) } == .timedOut)
            service.resume()
            // Whether the second value was stored is not known; it is one of the two and can be replaced.
            #expect([[1], [2]].contains(try keyring.envelope(name)))
            try keyring.put([3], for: name)
            #expect(try keyring.envelope(name) == [3])
        }

        @Test("A stopped bus times out and works again when it resumes")
        func aStoppedBusTimesOut() throws {
            let service = try #require(try PrivateKeyring())
            let vaultID = try VaultID.random()
            let keyring = try open(service.address, vaultID)
            let known = try open(service.address, vaultID, limit: .seconds(2))
            try keyring.put([1], for: name)
            #expect(try known.envelope(name) == [1])
            service.stopBus()
            defer { service.stopBus(false) }
            #expect(failure { _ = try known.envelope(name) } == .timedOut)
            let new = try open(service.address, vaultID, limit: .milliseconds(500))
            #expect(failure { _ = try new.envelope(name) } == .timedOut)
            #expect(SecretServiceProbe.check(at: service.address, deadline: .milliseconds(200)) == .timedOut)
            service.stopBus(false)
            #expect(try keyring.envelope(name) == [1])
        }

        @Test("A service that dies during a call is reported as such")
        func aServiceThatDiesInTheMiddleOfACallIsSaid() async throws {
            let service = try #require(try PrivateKeyring())
            let vaultID = try VaultID.random()
            let patient = try SecretServiceStorage(
                tokensOf: vaultID, client: SecretServiceClient(address: service.address))
            try patient.put([1], for: name)
            service.stop()
            let name = name
            async let read = BlockingExecutor.run { _ throws(CofferError) in
                do throws(CofferError) {
                    return Result<[UInt8]?, CofferError>.success(try patient.envelope(name))
                } catch {
                    return .failure(error)
                }
            }
            // However far the call has come, the answer is a definite one.
            try service.kill()
            let code: CofferError.Code? =
                if case .failure(let error) = try await read { error.code } else { nil }
            #expect(code == .interrupted || code == .noSecretService)
            try service.start()
            #expect(try patient.envelope(name) == [1])
            try patient.put([2], for: name)
            #expect(try patient.envelope(name) == [2])
        }

        @Test("Items of other programs stay as they are")
        func othersItemsStayAsTheyAre() throws {
            let service = try #require(try PrivateKeyring())
            let vaultID = try VaultID.random()
            let keyring = try open(service.address, vaultID)
            let mail = try service.add(["application": "mail", "account": "ada"], Array("secret".utf8))
            let broad = try service.add(["application": "coffer"], Array("not ours".utf8))
            try keyring.put([1], for: name)
            let own = try #require(try service.items().first { $0 != mail && $0 != broad })
            // The same attributes and one more.
            var attributes = try service.attributes(own)
            attributes["more"] = "x"
            let like = try service.add(attributes, Array("somebody else's".utf8))
            #expect(try keyring.envelope(name) == [1])
            #expect(try keyring.envelopes() == [name: [1]])
            try keyring.put([2], for: name)
            #expect(try keyring.envelope(name) == [2])
            try keyring.remove(name)
            #expect(try keyring.envelope(name) == nil)
            #expect(try service.items() == [mail, broad, like].sorted())
            #expect(try service.secret(like) == Array("somebody else's".utf8))
            try keyring.put([3], for: name)
            #expect(try keyring.envelopes() == [name: [3]])
            _ = try keyring.removeAll(Deadline(.seconds(60)))
            #expect(try service.items() == [mail, broad, like].sorted())
            #expect(try service.secret(mail) == Array("secret".utf8))
        }

        @Test("Duplicate items are ambiguous, and the error lists them")
        func duplicatesAreAmbiguousAndSaidWhich() throws {
            let service = try #require(try PrivateKeyring())
            let vaultID = try VaultID.random()
            let keyring = try open(service.address, vaultID)
            let other = try open(service.address, vaultID)
            try keyring.put([1], for: name)
            let own = try #require(try service.items().first)
            let secret = try #require(try service.secret(own))
            let double = try service.add(service.attributes(own), secret)
            // Who has stored it goes on reading it where it is.
            #expect(try keyring.envelope(name) == [1])
            for body in [
                { _ = try other.envelope(name) }, { _ = try keyring.envelopes() },
                { try keyring.put([2], for: name) }, { try keyring.remove(name) },
            ] as [() throws -> Void] {
                let error = #expect(throws: CofferError.self) { try body() }
                #expect(error?.code == .ambiguous)
                #expect(error?.entries.sorted() == [own, double].sorted())
            }
            try service.remove(double)
            #expect(try other.envelope(name) == [1] && keyring.envelope(name) == [1])
            // A path leads to another item now, or to none.
            try keyring.put([2], for: ItemStorageContract.name(2))
            let second = try #require(try service.items().first { $0 != own })
            try service.replace(own, by: #require(try service.secret(second)))
            try service.remove(second)
            #expect(failure { _ = try keyring.envelope(name) } != nil)
            try service.remove(own)
            #expect(try keyring.envelope(name) == nil && other.envelope(name) == nil)
        }

        @Test("A damaged item is neither read nor replaced")
        func whatIsDamagedIsNeitherReadNorReplaced() throws {
            let service = try #require(try PrivateKeyring())
            let keyring = try open(service.address, VaultID.random())
            try keyring.put(Array("an envelope".utf8), for: name)
            let own = try #require(try service.items().first)
            let good = try #require(try service.secret(own))
            #expect(!good.contains(10) && !good.contains(13))
            let damages: [[UInt8]] = [
                [], Array("plain".utf8), Array(good.dropLast()), good + [10], Array("AAAA".utf8),
                Array(good.dropFirst(4)), [0xff, 0xfe], [UInt8](repeating: 65, count: 44),
            ]
            for damage in damages {
                try service.replace(own, by: damage)
                #expect(failures(keyring) == [.corrupt, .corrupt, .corrupt, .corrupt])
                #expect(try service.secret(own) == damage)
            }
            try service.replace(own, by: good)
            #expect(try keyring.envelope(name) == Array("an envelope".utf8))
        }

        @Test("An item that another program removed is absent and can be stored again")
        func removedByAnotherProgramIsAbsent() throws {
            let service = try #require(try PrivateKeyring())
            let keyring = try open(service.address, VaultID.random())
            try keyring.put([1], for: name)
            try service.remove(#require(try service.items().first))
            #expect(try keyring.envelope(name) == nil)
            try keyring.put([2], for: name)
            #expect(try keyring.envelope(name) == [2])
        }

        /// An item says nothing of what it is for: hashes, a constant and one line.
        @Test("An item reveals nothing about its purpose")
        func itemsSayNothing() throws {
            let service = try #require(try PrivateKeyring(.plainText))
            let vaultID = try VaultID.random()
            let keyring = try open(service.address, vaultID)
            try keyring.put(Array("a\nb".utf8), for: name)
            let own = try #require(try service.items().first)
            let attributes = try service.attributes(own)
            // The service adds the schema of generic items by itself once it has stored them.
            #expect(Set(attributes.keys).subtracting(["xdg:schema"]) == ["application", "vault", "item"])
            #expect(attributes["application"] == "coffer" && attributes["item"]?.count == 64)
            #expect(attributes["vault"]?.contains(vaultID.description) == false)
            let other = try open(service.address, VaultID.random())
            #expect(try other.envelopes().isEmpty && other.count() == 0)
        }

        @Test(
            "The probe tells collections with a password from those without",
            arguments: [PrivateKeyring.Collection.encrypted, .plainText])
        func collectionsWithoutAPasswordAreKnown(_ collection: PrivateKeyring.Collection) throws {
            let service = try #require(try PrivateKeyring(collection))
            let found = try SecretCollection.inspect(
                SecretServiceClient(address: service.address), Deadline(.seconds(60)))
            #expect(found.storage == (collection == .plainText ? .plainText : .encrypted))
        }
    }
#endif
