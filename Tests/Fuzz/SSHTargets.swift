@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// Messages to the SSH agent, and the records of key pairs.
extension FuzzTarget {
    static let ssh = [
        FuzzTarget("ssh-agent") { bytes, _ in
            switch try SSHAgentRequest.decode(bytes.span) {
            case .sign(let key, let data, _):
                _ = SSHSignedData(data)
                guard let publicKey = SSHPublicKey.decode(key) else { return }
                try FuzzFinding.require(
                    SSHPublicKey.encode(publicKey) == key, "a public key changes when it is written again")
            case .add(let added):
                let message: [UInt8] = [1]
                let scheme = SigningScheme.standard(for: added.publicKey.algorithm)
                let signature = try added.held.key.sign(message.span, scheme: scheme)
                try FuzzFinding.require(
                    try added.publicKey.isValid(
                        signature: signature.span, for: message.span, scheme: scheme),
                    "a key was added whose halves do not belong together")
            case .bind(let binding): _ = try binding.isSigned()
            case .identities, .remove, .removeAll, .lock, .unlock, .unsupported: return
            }
        },
        FuzzTarget("key-pair") { bytes, world in
            let record = try KeyPairRecord.decode(bytes)
            let encoded = record.encoded
            try FuzzFinding.require(
                try KeyPairRecord.decode(encoded).encoded == encoded, "a key pair changes")
            _ = try record.open(under: world.classKey, vaultID: world.device.vaultID)
            throw FuzzFinding("a key pair that nobody sealed opens")
        },
    ]
}
