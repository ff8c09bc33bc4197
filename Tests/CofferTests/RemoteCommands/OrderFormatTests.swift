@testable import Coffer
import CofferBase
import CofferCrypto
import Foundation
import Testing
import TestSupport

@Suite("The bytes of orders")
struct OrderFormatTests {
    @Test("Every flipped bit and every truncation of an order is refused and changes nothing")
    func damage() async throws {
        let scene = try await OrderFixture.make(nil)
        let rules = CommandVerifier(
            keys: [scene.administrator.key], vaultID: scene.session.vaultID.uuid, deviceID: nil,
            lastCommand: 0, lastHeartbeat: 0, now: CommandEncoding.seconds(scene.now) ?? 0)
        let order = try scene.order(.wipe(.user("ada")), counter: 3, reason: "why")
        _ = try rules.verify(SignedCommand.read(order))
        var codes: Set<String> = []
        func isTaken(_ bytes: [UInt8]) -> Bool {
            do {
                _ = try rules.verify(SignedCommand.read(bytes))
                return true
            } catch {
                codes.insert(error.code.name)
                return false
            }
        }
        for place in order.indices {
            for bit in 0..<8 {
                var changed = order
                changed[place] ^= 1 << UInt8(bit)
                #expect(!isTaken(changed), "bit \(bit) of byte \(place)")
            }
            #expect(!isTaken(Array(order.prefix(place))), "the first \(place) bytes")
            #expect(!isTaken(Array(order.suffix(place))), "the last \(place) bytes")
        }
        #expect(
            codes == ["orderMalformed", "orderUnsupportedVersion", "orderUnknownKey", "orderBadSignature"])
        // Through the front door, too.
        let before = try scene.home.everything()
        for place in stride(from: 0, to: order.count, by: 12) {
            var changed = order
            changed[place] ^= 0x20
            #expect(await scene.refusal(of: changed) != nil)
            #expect(await scene.refusal(of: Array(order.prefix(place))) == .orderMalformed)
        }
        #expect(try scene.home.everything() == before)
    }

    @Test("An order reads back as it was written, at the limits of every field")
    func roundTrips() throws {
        let administrator = try Administrator()
        let last = Date(timeIntervalSince1970: 253_402_300_799)
        let first = Date(timeIntervalSince1970: 0)
        let name = String(repeating: "n", count: 256)
        let reason = String(repeating: "r", count: 1024)
        for (action, target, counter, issued, expires, reason) in [
            (.wipe(.all), .vault(UUID()), 1, first, last, ""),
            (.wipe(.user(name)), .vault(UUID()), .max - 1, last - 1, last, reason),
            (
                .wipe(.user("é\u{65}\u{301}")), .device(try DeviceID(.counting(16))), 1 << 63, first,
                first + 1, "ß"
            ),
            (.pin(administrator.key), .vault(UUID()), 7, first + 0.9, first + 1.1, " "),
        ] as [(RemoteCommand.Action, RemoteCommand.Target, UInt64, Date, Date, String)] {
            let order = RemoteCommand(
                action, for: target, counter: counter, issued: issued, expires: expires, reason: reason)
            let bytes = try administrator.sign(order)
            #expect(bytes.count <= SignedCommand.maxByteCount)
            let read = try SignedCommand.read(bytes)
            #expect(read.content.action == action && read.content.target == target)
            #expect(read.content.counter == counter && Array(read.content.reason.utf8) == Array(reason.utf8))
            #expect(
                read.content.issued
                    == Date(timeIntervalSince1970: issued.timeIntervalSince1970.rounded(.down)))
            #expect(read.claimedSigner == administrator.key)
            #expect(try administrator.sign(read.content) == bytes)
        }
        #expect(SignedCommand.maxByteCount == 1436)
    }

    @Test("An order with invalid contents cannot be signed")
    func unwritable() throws {
        let administrator = try Administrator()
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let long = String(repeating: "ä", count: 513)
        for (action, counter, issued, expires, reason) in [
            (.wipe(.all), 0, now, now + 1, ""), (.wipe(.all), .max, now, now + 1, ""),
            (.wipe(.all), 1, now, now, ""), (.wipe(.all), 1, now, now - 1, ""),
            (.wipe(.all), 1, now, now + 0.5, ""), (.wipe(.all), 1, Date(timeIntervalSince1970: -1), now, ""),
            (.wipe(.all), 1, now, Date(timeIntervalSince1970: 253_402_300_800), ""),
            (.wipe(.all), 1, now, .distantFuture + 1e15, ""), (.wipe(.all), 1, now, now + 1, long),
            (.wipe(.all), 1, now, now + 1, "a\nb"), (.wipe(.all), 1, now, now + 1, "\u{1B}[2J"),
            (.wipe(.all), 1, now, now + 1, "\u{85}"), (.wipe(.user("")), 1, now, now + 1, ""),
            (.wipe(.user(String(long.prefix(129)))), 1, now, now + 1, ""),
            (.wipe(.user("a\0")), 1, now, now + 1, ""),
        ] as [(RemoteCommand.Action, UInt64, Date, Date, String)] {
            let order = RemoteCommand(
                action, for: .vault(UUID()), counter: counter, issued: issued, expires: expires,
                reason: reason)
            let error = #expect(throws: CofferError.self) { try administrator.sign(order) }
            #expect(error?.code == .invalidInput)
        }
        let short = try SymmetricKey.random(count: 31)
        let order = RemoteCommand(.heartbeat, for: .vault(UUID()), counter: 1, issued: now, expires: now + 1)
        var refused = false
        do { _ = try order.signed(by: short) } catch { refused = error.code == .invalidInput }
        #expect(refused)
    }

    @Test("Keys and device identifiers are hexadecimal text of their size", arguments: ["", "00", "zz", "0"])
    func hexadecimal(_ text: String) throws {
        #expect(throws: CofferError.self) { try AdministratorKey(hex: text) }
        #expect(throws: CofferError.self) { try DeviceID(hex: text) }
        let key = try Administrator().key
        #expect(try AdministratorKey(hex: key.description) == key)
        #expect(try AdministratorKey(hex: key.description.uppercased()) == key)
        #expect(throws: CofferError.self) { try AdministratorKey(hex: key.description + "00") }
        #expect(throws: CofferError.self) { try AdministratorKey([1]) }
        #expect(throws: CofferError.self) { try DeviceID([1]) }
        #expect(try DeviceID(hex: String(repeating: "0a", count: 16)).description.count == 32)
    }
}
