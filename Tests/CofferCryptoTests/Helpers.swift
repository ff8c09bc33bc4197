import CofferBase
import CofferCrypto
import CofferEngine

/// A key of these bytes.
func key(_ bytes: [UInt8]) throws -> SymmetricKey { try SymmetricKey.copying(bytes.span) }

/// The bytes of a secret.
func bytes(_ secret: borrowing SecretBytes) -> [UInt8] { secret.exposing { $0.copied() } }
