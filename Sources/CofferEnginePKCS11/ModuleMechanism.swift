/// A way to sign that a client asks for.
package struct ModuleMechanism: Sendable, Equatable {
    /// The number in the standard (`CKM_…`).
    package let type: UInt
    /// The parameter's bytes, at most 4096; empty without one.
    package let parameter: [UInt8]

    package init(type: UInt, parameter: [UInt8] = []) {
        self.type = type
        self.parameter = parameter
    }

    package static let rsaPKCS: UInt = 0x01
    package static let rsaPSS: UInt = 0x0D
    package static let ecdsa: UInt = 0x1041
    package static let eddsa: UInt = 0x1057

    /// A mechanism in the list of the module, with the sizes of its keys in bits.
    package struct Description: Sendable {
        package let type: UInt
        package let keySizes: ClosedRange<UInt>
        /// The numbers that describe elliptic curves (`CKF_EC_…`).
        package let curveFlags: UInt

        package init(_ type: UInt, _ keySizes: ClosedRange<UInt>, curveFlags: UInt = 0) {
            self.type = type
            self.keySizes = keySizes
            self.curveFlags = curveFlags
        }
    }
}
