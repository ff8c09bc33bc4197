import CofferBase
import CofferCrypto

/// The tests for key wrapping, with and without padding.
extension VectorTest {
    static let keyWrap = wrapping(
        wrap: { (key, kek) throws(CofferError) in try KeyWrap.wrap(key, under: kek) },
        unwrap: { (wrapped, kek) throws(CofferError) in try KeyWrap.unwrap(wrapped.span, under: kek) })

    static let keyWrapPadded = wrapping(
        wrap: { (key, kek) throws(CofferError) in try KeyWrapPadded.wrap(key, under: kek) },
        unwrap: { (wrapped, kek) throws(CofferError) in try KeyWrapPadded.unwrap(wrapped.span, under: kek) })

    private typealias Wrap =
        @Sendable (_ key: borrowing SymmetricKey, _ kek: borrowing SymmetricKey) throws(CofferError) ->
        [UInt8]
    private typealias Unwrap =
        @Sendable (_ wrapped: [UInt8], _ kek: borrowing SymmetricKey) throws(CofferError) -> SymmetricKey

    private static func wrapping(wrap: @escaping Wrap, unwrap: @escaping Unwrap) -> VectorTest {
        VectorTest(["KeywrapTest"], fields: ["key", "msg", "ct"], control: "ct") {
            (test, _) throws(MalformedVector) in
            let kek = try test.bytes("key")
            let (key, wrapped) = (try test.bytes("msg"), try test.bytes("ct"))
            do throws(CofferError) {
                let wrappingKey = try SymmetricKey.copying(kek.span)
                let content = try SymmetricKey.copying(key.span)
                guard [16, 24, 32].contains(kek.count) else {
                    let opening = refusal { () throws(CofferError) in _ = try unwrap(wrapped, wrappingKey) }
                    guard opening != nil else { return .wrong("a wrong key size is not refused") }
                    return .unsupported("unsupported-key-size:\(kek.count * 8)")
                }
                let opened = try unwrap(wrapped, wrappingKey)
                guard opened.isEqual(to: content) else { return .wrong("it unwraps to a different key") }
                return try wrap(content, wrappingKey) == wrapped
                    ? .agrees : .wrong("wrapping produces different bytes")
            } catch {
                return notDecrypted(error)
            }
        }
    }
}
