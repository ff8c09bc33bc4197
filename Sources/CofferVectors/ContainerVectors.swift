import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization

/// The test vectors for the file container, whose format the FileFormat article describes. A valid vector
/// opens to its plaintext, name and date. An invalid vector is rejected, and any bytes returned before the
/// rejection are a prefix of its plaintext.
package enum ContainerVectors {
    /// The algorithm's name in vector files.
    package static let algorithm = "FILE-CONTAINER"

    /// The procedure that runs one vector.
    package static let procedure = VectorTest(
        ["FileContainerTest"],
        fields: [
            "deviceKey", "classKey", "classKeyID", "vaultID", "context", "container", "msg", "name", "mtime",
        ],
        control: "container"
    ) { (test, _) throws(MalformedVector) in
        let expected = Content(
            plaintext: try test.bytes("msg"), name: try test.bytes("name"),
            modified: Int64(try test.integer("mtime")))
        let deviceKey = try test.bytes("deviceKey")
        let (classKey, classKeyID) = (try test.bytes("classKey"), try test.bytes("classKeyID"))
        let (container, context) = (try test.bytes("container"), try test.bytes("context"))
        guard let vaultID = VaultID(bytes: try test.bytes("vaultID")) else {
            throw MalformedVector("field vaultID is not 16 bytes long")
        }
        let served = Mutex<[UInt8]>([])
        do throws(CofferError) {
            let device = DeviceKey(
                vaultID: vaultID, deviceKey: try SymmetricKey.copying(deviceKey.span))
            let key = try ClassKey(
                try SymmetricKey.copying(classKey.span), id: classKeyID, generation: 1, vaultID: vaultID)
            let reader = try ContainerReader.open(
                try Descriptor.inMemory(container.span), id: nil, device: device, context: context
            ) { (_) throws(CofferError) in key }
            try reader.forEachRun(in: 0..<reader.layout.chunkCount, threads: 1) {
                (plaintext, _) throws(CofferError) in
                let piece = plaintext.copied()
                served.withLock { $0 += piece }
            }
            let content = Content(
                plaintext: served.withLock { $0 }, name: reader.header.name, modified: reader.header.modified)
            return content == expected ? .agrees : .wrong("it opens to different content")
        } catch {
            guard expected.plaintext.starts(with: served.withLock { $0 }) else {
                return .wrong("bytes other than the plaintext were served before the refusal")
            }
            return refusals.contains(error.code)
                ? .refused(error.code) : .wrong("opening fails with \(error.code.name)")
        }
    }

    private struct Content: Equatable {
        let plaintext: [UInt8]
        let name: [UInt8]
        let modified: Int64
    }

    private static let refusals: Set<CofferError.Code> = [.corrupt, .foreign, .unsupportedVersion]
}
