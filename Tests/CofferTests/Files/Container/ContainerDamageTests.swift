@testable import Coffer
import CofferBase
import Foundation
import Testing
import TestSupport

/// Damage of every kind, drawn at random; a sample of what `Tests/Faults/container_damage.sh` tries with
/// COFFER_DAMAGE set to the number of trials.
@Suite("Random damage to containers")
struct ContainerDamageTests {
    private static let setting = ProcessInfo.processInfo.environment["COFFER_DAMAGE"]
    private static let trials = setting.flatMap { Int($0) } ?? 400
    private static let isWhole = setting != nil
    private static let refusals: Set<CofferError.Code> = [.corrupt, .foreign, .unsupportedVersion]

    /// A known sequence, so that a failure can be had again.
    private struct Draw: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }

    private func damage(_ bytes: [UInt8], with other: [UInt8], _ draw: inout Draw) -> [UInt8] {
        var damaged = bytes
        // Half of it hits the body, which is a hundredth of a small file.
        let isBody = Bool.random(using: &draw)
        let position = Int.random(in: (isBody ? 4096 : 0)..<bytes.count, using: &draw)
        let length = min(Int.random(in: 1...80, using: &draw), bytes.count - position)
        switch Int.random(in: 0..<9, using: &draw) {
        case 0: damaged[position] ^= 1 << UInt8.random(in: 0..<8, using: &draw)
        case 1: damaged[position] = UInt8.random(in: 0...255, using: &draw)
        case 2:
            for index in position..<position + length {
                damaged[index] = UInt8.random(in: 0...255, using: &draw)
            }
        case 3: for index in position..<position + length { damaged[index] = 0 }
        case 4: damaged.removeSubrange(position..<position + length)
        case 5: damaged.insert(contentsOf: bytes[position..<position + length], at: position)
        case 6: damaged = Array(bytes[..<position])
        case 7:
            for index in position..<min(position + length, other.count) { damaged[index] = other[index] }
        default:
            let from = Int.random(in: 4096..<bytes.count, using: &draw)
            let count = min(length, bytes.count - from)
            for index in 0..<count { damaged[position + index] = bytes[from + index] }
        }
        return damaged
    }

    @Test(
        "A damaged container opens to its own plaintext or is refused",
        arguments: ContainerCipherSuite.allCases)
    func neverAWrongPlaintext(suite: ContainerCipherSuite) async throws {
        let fixture = try await ContainerFixture()
        let seed = UInt64.random(in: 0 ... .max)
        var draw = Draw(state: seed)
        for size in [0, 16, 33, 200] {
            let plaintext = ContainerFixture.plaintext(size)
            let bytes = try fixture.seal(plaintext, suite: suite)
            let other = try fixture.seal(ContainerFixture.plaintext(size), suite: suite)
            for trial in 0..<Self.trials / 8 {
                let damaged = damage(bytes, with: other, &draw)
                do {
                    let opened = try fixture.open(damaged)
                    #expect(opened == plaintext, "seed \(seed), size \(size), trial \(trial)")
                } catch let error as CofferError {
                    #expect(
                        Self.refusals.contains(error.code), "seed \(seed), size \(size), trial \(trial)")
                }
            }
        }
    }

    /// Sizes of nothing to three chunks, cut and lengthened at every byte of the body. A sample of the sizes
    /// unless the whole is asked for.
    @Test("A container of any other length is refused")
    func everyLengthButItsOwnIsRefused() async throws {
        let fixture = try await ContainerFixture()
        for size in Self.isWhole ? Array(0...49) : [0, 16, 31] {
            let bytes = try fixture.seal(ContainerFixture.plaintext(size))
            for cut in 4096..<bytes.count {
                #expect(failure { _ = try fixture.open(Array(bytes[..<cut])) } == .corrupt, "\(size), \(cut)")
            }
            for more in 1...100 {
                let extended = bytes + ContainerFixture.plaintext(more)
                #expect(failure { _ = try fixture.open(extended) } == .corrupt, "\(size), \(more) more")
            }
        }
    }
}
