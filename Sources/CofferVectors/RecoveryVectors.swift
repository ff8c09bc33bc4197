import CofferBase
import CofferCrypto
import CofferVault

/// The test vectors for recovery keys. The Formats article describes the text and what is derived from it. A
/// valid vector must be read, give the derived values in the file, and open the wrapped keys; an invalid one
/// must be refused or differ.
package enum RecoveryVectors {
    /// The algorithm's name in vector files.
    package static let algorithm = "RECOVERY-KEY"

    /// The procedure for one vector.
    package static let procedure = VectorTest(
        ["RecoveryKeyTest"],
        fields: [
            "text", "secret", "vaultID", "deviceKey", "identifier", "slotKey", "copyKey", "publicKey",
            "protection", "classKey", "slot", "copy",
        ],
        control: "copy"
    ) { (test, _) throws(MalformedVector) in
        let values = try Values(test)
        do throws(CofferError) {
            return try values.agree() ? .agrees : .unequal
        } catch {
            return .refused(error.code)
        }
    }

    /// A vector's fields.
    private struct Values {
        let text: String
        let protection: Int
        let bytes: [String: [UInt8]]

        init(_ test: VectorCase) throws(MalformedVector) {
            text = try test.text("text")
            protection = try test.integer("protection")
            var bytes: [String: [UInt8]] = [:]
            for name in [
                "secret", "vaultID", "deviceKey", "identifier", "slotKey", "copyKey", "publicKey", "classKey",
                "slot", "copy",
            ] { bytes[name] = try test.bytes(name) }
            self.bytes = bytes
        }

        private func field(_ name: String) -> [UInt8] { bytes[name] ?? [] }

        private func isEqual(
            _ name: String, _ key: borrowing SymmetricKey
        ) throws(CofferError) -> Bool {
            let expected = try SymmetricKey.copying(field(name).span)
            return key.isEqual(to: expected)
        }

        /// Returns whether everything that is computed is as the file has it.
        func agree() throws(CofferError) -> Bool {
            let key = try RecoveryKey(SecretBytes.copying(text))
            let secret = try RecoveryKey(SymmetricKey.copying(field("secret").span))
            guard key.isEqual(to: secret), let vaultID = VaultID(bytes: field("vaultID")),
                let protection = UInt16(exactly: protection).flatMap(ProtectionClass.init(rawValue:))
            else { return false }
            let device = DeviceKey(
                vaultID: vaultID, deviceKey: try SymmetricKey.copying(field("deviceKey").span))
            guard try key.identifier(vaultID: vaultID) == field("identifier"),
                try isEqual("slotKey", key.wrappingKey(device: device)),
                try isEqual("copyKey", key.deviceWrappingKey(vaultID: vaultID)),
                try SealedBox.publicKey(of: key.inboxKey(vaultID: vaultID)) == field("publicKey")
            else { return false }
            return try opens(key, device, protection)
        }

        /// Returns whether the wrapped keys open to the keys in the file.
        private func opens(
            _ key: RecoveryKey, _ device: DeviceKey, _ protection: ProtectionClass
        ) throws(CofferError) -> Bool {
            let context = Keybag.context(protection, vaultID: device.vaultID)
            let classKey = try WrappedKey.decode(field("slot").span)
                .unwrap(under: key.wrappingKey(device: device), context: context.span)
            let copy = field("copy")
            // The rest of the slot is zeros.
            guard try isEqual("classKey", classKey), copy.count == 128 else { return false }
            let slot = copy + [UInt8](repeating: 0, count: RecoveryRecord.slotSize - copy.count)
            let deviceKey = try RecoveryRecord.deviceKey(
                in: slot, under: key.deviceWrappingKey(vaultID: device.vaultID), vaultID: device.vaultID)
            return try isEqual("deviceKey", deviceKey)
        }
    }
}
