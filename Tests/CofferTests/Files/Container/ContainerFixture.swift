@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import TestSupport

/// Containers of chosen chunk sizes, made and read without a store.
final class ContainerFixture: Sendable {
    let home: TestHome
    let session: Vault
    let classKey: ClassKey
    var device: DeviceKey { session.core.device }

    init() async throws {
        home = try TestHome()
        session = try await home.create()
        classKey = try session.core.keys.key(.whenUnlockedThisDeviceOnly)
    }

    /// Different bytes all over.
    static func plaintext(_ count: Int) -> [UInt8] {
        var state: UInt64 = 0x9e37_79b9_7f4a_7c15 &+ UInt64(count)
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    func seal(
        _ plaintext: [UInt8], id: FileID? = nil, chunkSizeLog2: UInt8 = 4,
        suite: ContainerCipherSuite = .chaCha20Poly1305,
        name: [UInt8] = Array("name".utf8), context: [UInt8] = []
    ) throws -> [UInt8] {
        try home.scratch.write("source", plaintext)
        let source = try home.scratch.descriptor.open("source", .read)
        try home.scratch.write("container", [])
        let target = try home.scratch.descriptor.open("container", .readWrite)
        let writer = ContainerWriter(
            id: try id ?? .random(), device: device, classKey: classKey,
            protection: .whenUnlockedThisDeviceOnly,
            suite: suite, chunkSizeLog2: chunkSizeLog2, context: context)
        try writer.seal(source, name: name, into: target, check: {}, progress: nil)
        return try home.scratch.read("container")
    }

    func reader(
        _ bytes: [UInt8], id: FileID? = nil, context: [UInt8] = [], device: DeviceKey? = nil,
        key: ClassKey? = nil
    ) throws -> ContainerReader {
        try home.scratch.write("opened", bytes)
        let file = try home.scratch.descriptor.open("opened", .read)
        return try ContainerReader.open(file, id: id, device: device ?? self.device, context: context) {
            (_) throws(CofferError) in key ?? self.classKey
        }
    }

    /// The whole plaintext.
    func open(
        _ bytes: [UInt8], id: FileID? = nil, context: [UInt8] = [], device: DeviceKey? = nil,
        key: ClassKey? = nil
    ) throws -> [UInt8] {
        try read(reader(bytes, id: id, context: context, device: device, key: key))
    }

    func read(_ reader: ContainerReader) throws -> [UInt8] {
        let result = CollectedEvents()
        try reader.forEachRun(in: 0..<reader.layout.chunkCount, threads: 1) {
            (plaintext, _) throws(CofferError) in
            result.append(plaintext.copied())
        }
        return result.bytes
    }
}
