/// An attribute that a client searches for.
package struct ModuleAttribute: Sendable, Equatable {
    /// The number in the standard (`CKA_…`).
    package let type: UInt
    package let value: [UInt8]

    package init(type: UInt, value: [UInt8]) {
        self.type = type
        self.value = value
    }
}
