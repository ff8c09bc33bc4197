@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import Foundation
import TestSupport

/// A home that takes one administrator's orders, and that administrator.
struct OrderFixture: Sendable {
    let home: TestHome
    let clock: TestClock
    let session: Vault
    let administrator: Administrator

    /// The owner has unlocked the vault and pinned the administrator's key; a token is in it.
    static func make(_ passcode: String? = "correct horse") async throws -> OrderFixture {
        let home = try TestHome()
        let clock = TestClock()
        let session = try await home.create(passcode, clock: clock.source)
        let administrator = try Administrator()
        try await session.pinAdministratorKey(administrator.key, label: "the office")
        try await session.tokens.put(
            Token(copying: "a token"), for: TokenID(service: "api.example.org", account: "ada"))
        return OrderFixture(home: home, clock: clock, session: session, administrator: administrator)
    }

    /// The time by the scene's clock.
    var now: Date { Date(nanosecondsSince1970: clock.source.wallClock().nanoseconds) }

    /// An order for this vault, signed by its administrator unless told.
    func order(
        _ action: RemoteCommand.Action = .wipe(.all), target: RemoteCommand.Target? = nil,
        counter: UInt64 = 1,
        issued: Date? = nil, expires: Date? = nil, reason: String = "", by signer: Administrator? = nil
    ) throws -> [UInt8] {
        let order = RemoteCommand(
            action, for: target ?? .vault(session.vaultID.uuid), counter: counter, issued: issued ?? now,
            expires: expires ?? now + 3600, reason: reason)
        return try (signer ?? administrator).sign(order)
    }

    /// Reads, verifies and executes an order, as a program that receives the bytes does.
    @discardableResult
    func take(_ bytes: [UInt8], by session: Vault? = nil) async throws -> RemoteCommand.Outcome {
        let session = session ?? self.session
        return try await session.execute(session.verify(SignedCommand.read(bytes)))
    }

    /// The code by which the bytes are refused; `nil` when they are taken.
    func refusal(of bytes: [UInt8]) async -> CofferError.Code? {
        await CofferTests.refusal { try await take(bytes) }?.code
    }

    /// The token, to see that nothing was lost.
    func token() async throws -> Bool {
        let id = try TokenID(service: "api.example.org", account: "ada")
        return try await session.tokens.withToken(for: id) { _, _ in true } ?? false
    }
}

extension VaultCore {
    /// Writes the record of orders with other bytes, as another release does.
    func rewriteRemoteCommandRecord(_ change: ([UInt8]) throws -> [UInt8]) throws {
        let vault = try home.openVault()
        let original = RemoteCommandRecord.record
        let record = AuthenticatedRecord<OtherPayload>(
            name: original.name, magic: original.magic, keyLabel: original.keyLabel,
            slotSize: original.slotSize, displayName: original.displayName)
        let old = try record.read(device: device, in: vault)
        try record.update(
            old, to: OtherPayload(bytes: change(old.payload.bytes)), device: device, in: vault)
    }
}

/// The payload of another release: bytes.
private struct OtherPayload: RecordPayload {
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    init(from reader: inout BinaryReader) throws(CofferError) {
        bytes = try reader.take(reader.remaining)
    }

    func encode(to writer: inout BinaryWriter) { writer.append(bytes) }
}

extension OrderFixture {
    /// The record of orders as the release before wrote it, of a look now: bytes by its own description.
    func oldRecord(
        switchedTo action: UInt8 = 0, days: Int = 0, elapsed: Duration = .zero, lastCommand: UInt64 = 0,
        pending: [UInt8] = []
    ) -> [UInt8] {
        func number(_ value: Int) -> [UInt8] { UInt64(value).bigEndianBytes }
        func counted(_ bytes: [UInt8]) -> [UInt8] { UInt32(bytes.count).bigEndianBytes + bytes }
        let (source, now) = (clock.source, Int(now.timeIntervalSince1970))
        var bytes = lastCommand.bigEndianBytes + number(0) + number(now)
        bytes += [action, 0, 0, 0, 0, 0, 0, 0] + number(days * 86_400)
        bytes += number(Int(elapsed.nanoseconds)) + number(Int(source.bootTime().nanoseconds))
        bytes += counted(Array(source.bootIdentifier().utf8)) + UInt16(1).bigEndianBytes
        bytes += administrator.key.bytes + number(now) + counted(Array("the office".utf8))
        return bytes + counted(pending)
    }
}

/// An administrator with a private key.
struct Administrator: Sendable {
    private let seed: [UInt8]
    let key: AdministratorKey

    init() throws {
        let seed = try SecureRandom.bytes(32)
        self.seed = seed
        key = try AdministratorKey(of: SymmetricKey.copying(seed.span))
    }

    func sign(_ order: RemoteCommand) throws -> [UInt8] {
        try order.signed(by: SymmetricKey.copying(seed.span))
    }

    /// Signs a policy document in JSON, valid for an hour from a time on.
    func policy(
        _ document: String, for target: RemoteCommand.Target, counter: UInt64, issued: Date,
        expires: Date? = nil
    ) throws -> [UInt8] {
        try SignedPolicy.sign(
            Array(document.utf8), as: .json, for: target, counter: counter, issued: issued,
            expires: expires ?? issued + 3600, by: SymmetricKey.copying(seed.span))
    }

    /// Signs what is no order, or says what no order may.
    func sign(_ body: [UInt8]) throws -> [UInt8] {
        try body + Ed25519.sign(body.span, seed: SymmetricKey.copying(seed.span))
    }
}
