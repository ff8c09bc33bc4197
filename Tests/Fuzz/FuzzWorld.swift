@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage
import TestSupport

/// The objects that the targets need beside their input: a device, a class key and a directory.
final class FuzzWorld: Sendable {
    let scratch: ScratchDirectory
    let device: DeviceKey
    let classKey: ClassKey
    /// Opens the backups that are made of inputs.
    let backupIdentity: AgeIdentity
    /// Whole containers with what they hold.
    let containers: [(bytes: [UInt8], plaintext: [UInt8])]

    init() throws {
        let scratch = try ScratchDirectory.make()
        backupIdentity = try AgeIdentity.generate()
        device = try DeviceKey.create(
            vaultID: .random(), backend: .file, in: scratch.descriptor,
            service: SecretServiceClient(address: nil))
        classKey = try ClassKey(
            SymmetricKey.random(), id: SecureRandom.bytes(16), generation: 1, vaultID: device.vaultID)
        var made: [(bytes: [UInt8], plaintext: [UInt8])] = []
        for (suite, log2, count) in [
            (ContainerCipherSuite.chaCha20Poly1305, UInt8(4), 70), (.aes256GCM, 5, 96),
            (.chaCha20Poly1305, 8, 0),
        ] {
            let plaintext = [UInt8].counting(count)
            try scratch.write("source", plaintext)
            try scratch.write("container", [])
            let writer = ContainerWriter(
                id: try .random(), device: device, classKey: classKey,
                protection: .whenUnlockedThisDeviceOnly, suite: suite, chunkSizeLog2: log2, context: [])
            try writer.seal(
                scratch.descriptor.open("source", .read), name: Array("name".utf8),
                into: scratch.descriptor.open("container", .readWrite), check: {}, progress: nil)
            made.append((try scratch.read("container"), plaintext))
        }
        containers = made
        self.scratch = scratch
    }
}
