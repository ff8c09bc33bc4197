import CofferCrypto
import CofferDatabase
import TestSupport

/// The key of a test's database: the same each time, so that it can be opened again.
func databaseKey() throws -> DatabaseKey {
    try DatabaseKey.raw(SecretBytes.copying([UInt8].counting(32).span))
}
