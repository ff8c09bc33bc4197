/// A token that signs, as clients of PKCS #11 see it: one slot, objects that do not change, and sessions that
/// only read. p11-kit calls it from one thread, and it must be safe from several.
package protocol TokenModule: AnyObject, Sendable {
    /// The token's name, at most 32 bytes.
    var label: String { get }
    /// The token's number, at most 16 bytes.
    var serial: String { get }
    /// The release of the module.
    var version: (major: UInt8, minor: UInt8) { get }
    var mechanisms: [ModuleMechanism.Description] { get }
    /// The maximum number of sessions.
    var mostSessions: Int { get }
    var sessionCount: Int { get }
    var isLoggedIn: Bool { get }

    func openSession() throws(ModuleFailure) -> UInt
    func closeSession(_ session: UInt) throws(ModuleFailure)
    func closeAllSessions()
    func checkSession(_ session: UInt) throws(ModuleFailure)

    func logIn(_ session: UInt) throws(ModuleFailure)
    func logOut(_ session: UInt) throws(ModuleFailure)

    func beginSearch(_ template: [ModuleAttribute], in session: UInt) throws(ModuleFailure)
    /// Returns the next objects, at most `count`; none at the end.
    func search(_ count: Int, in session: UInt) throws(ModuleFailure) -> [UInt]
    func endSearch(in session: UInt) throws(ModuleFailure)
    /// Returns the value of an attribute.
    ///
    /// - Throws: `attributeSensitive` for a part of a private key; `attributeTypeInvalid` for an attribute
    ///   that the object does not have; `objectHandleInvalid`.
    func attribute(_ type: UInt, of object: UInt, in session: UInt) throws(ModuleFailure) -> [UInt8]

    func beginSignature(
        _ mechanism: ModuleMechanism, key: UInt, in session: UInt
    ) throws(ModuleFailure)
    /// Returns the size of the signature that was begun.
    func signatureSize(in session: UInt) throws(ModuleFailure) -> Int
    /// Ends the signature that was begun, if there is one.
    func cancelSignature(in session: UInt)
    /// Signs, which ends the operation, also if it fails.
    func sign(_ data: [UInt8], in session: UInt) throws(ModuleFailure) -> [UInt8]
}
