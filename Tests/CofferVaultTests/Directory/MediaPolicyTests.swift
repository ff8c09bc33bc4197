import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import SystemPackage
import TestSupport
import Testing

@Suite("Rules for media")
struct MediaPolicyTests {
    private static let path: FilePath = "/home/ada/vault"

    private func check(_ medium: StorageMedium.Medium, _ isEncrypted: Bool?) throws(CofferError) {
        try MediaPolicy.checkEncryption(
            of: StorageMedium(medium: medium, type: "ext4", isEncrypted: isEncrypted), at: Self.path)
    }

    @Test(
        "Encrypted storage is accepted, on any medium",
        arguments: [.fixed, .removable, .network, .unknown] as [StorageMedium.Medium])
    func encrypted(_ medium: StorageMedium.Medium) throws { try check(medium, true) }

    @Test(
        "Storage that is not known to be encrypted is refused with the reason",
        arguments: [
            (.fixed, false, "a disk that is not encrypted"),
            (.removable, false, "a disk that is not encrypted"),
            (.fixed, nil, "a disk whose encryption is unknown"),
            (.unknown, nil, "a disk whose encryption is unknown"),
            (.network, nil, "a network file system, whose encryption is unknown"),
            (.memory, nil, "in memory, not on an encrypted disk"),
        ] as [(StorageMedium.Medium, Bool?, String)])
    func refused(_ medium: StorageMedium.Medium, _ isEncrypted: Bool?, _ reason: String) {
        do throws(CofferError) {
            try check(medium, isEncrypted)
            Issue.record("accepted")
        } catch {
            #expect(error.code == .refused && error.message.contains(reason), "\(error.message)")
            #expect(error.message.contains("/home/ada/vault") && error.message.contains("dm-crypt"))
        }
    }

    @Test("A directory is judged by the storage below it")
    func directory() throws {
        let scratch = try ScratchDirectory.make()
        let isEncrypted = try StorageMedium.of(scratch.descriptor).isEncrypted == true
        let code = failure { try MediaPolicy.checkEncryption(of: scratch.descriptor) }
        #expect(code == (isEncrypted ? nil : .refused))
    }

    @Test("A vault that requires an encrypted disk is created on one, and nothing is created elsewhere")
    func creation() throws {
        let scratch = try ScratchDirectory.make()
        let isEncrypted = try StorageMedium.of(scratch.descriptor).isEncrypted == true
        var options = VaultOptions()
        options.cost = .floor
        options.requiresDiskEncryption = true
        // That external media are allowed does not switch the rule off.
        for allowsExternal in [false, true] {
            options.allowsExternalMedia = allowsExternal
            let path = scratch.path.appending("home-\(allowsExternal)").appending("inner")
            let settings = options
            let code = failure {
                let made = try VaultDirectory.create(
                    at: VaultLocation(path: path), options: settings, passcode: nil,
                    addingStores: { (_, _) in })
                let keybag = try Keybag.record.read(device: made.device, in: made.home.openVault()).payload
                #expect(keybag.requiresDiskEncryption)
            }
            #expect(code == (isEncrypted ? nil : .refused))
            let parent = try scratch.descriptor.status(of: FilePath("home-\(allowsExternal)"))
            #expect((parent != nil) == isEncrypted)
        }
    }
}
