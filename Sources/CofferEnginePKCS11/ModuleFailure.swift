/// The answer of a function of PKCS #11 that failed.
package struct ModuleFailure: Error, Equatable {
    /// The number in the standard (`CKR_…`).
    package let code: UInt

    private init(_ code: UInt) { self.code = code }

    package static let ok: UInt = 0
    package static let slotUnknown = ModuleFailure(0x03)
    package static let generalError = ModuleFailure(0x05)
    package static let functionFailed = ModuleFailure(0x06)
    package static let argumentsBad = ModuleFailure(0x07)
    package static let attributeSensitive = ModuleFailure(0x11)
    package static let attributeTypeInvalid = ModuleFailure(0x12)
    package static let dataInvalid = ModuleFailure(0x20)
    package static let dataLengthRange = ModuleFailure(0x21)
    package static let deviceMemory = ModuleFailure(0x31)
    package static let deviceRemoved = ModuleFailure(0x32)
    package static let functionCanceled = ModuleFailure(0x50)
    package static let functionNotParallel = ModuleFailure(0x51)
    package static let functionNotSupported = ModuleFailure(0x54)
    package static let keyHandleInvalid = ModuleFailure(0x60)
    package static let keyTypeInconsistent = ModuleFailure(0x63)
    package static let keyFunctionNotPermitted = ModuleFailure(0x68)
    package static let mechanismInvalid = ModuleFailure(0x70)
    package static let mechanismParameterInvalid = ModuleFailure(0x71)
    package static let objectHandleInvalid = ModuleFailure(0x82)
    package static let operationActive = ModuleFailure(0x90)
    package static let operationNotInitialized = ModuleFailure(0x91)
    package static let sessionCount = ModuleFailure(0xB1)
    package static let sessionHandleInvalid = ModuleFailure(0xB3)
    package static let sessionParallelUnsupported = ModuleFailure(0xB4)
    package static let tokenWriteProtected = ModuleFailure(0xE2)
    package static let userAlreadyLoggedIn = ModuleFailure(0x100)
    package static let userNotLoggedIn = ModuleFailure(0x101)
    package static let userTypeInvalid = ModuleFailure(0x103)
    package static let bufferTooSmall = ModuleFailure(0x150)
    package static let notInitialized = ModuleFailure(0x190)
    package static let alreadyInitialized = ModuleFailure(0x191)
    package static let functionRejected = ModuleFailure(0x200)
}
