public import CofferBase

extension RSASignature {
    /// An RSA public key of a permitted size.
    public struct PublicKey: Sendable, Hashable {
        /// The modulus, with the highest byte first and without zero bytes in front.
        public let modulus: [UInt8]
        /// The public exponent, with the highest byte first and without zero bytes in front.
        public let exponent: [UInt8]

        /// Creates a public key of its numbers.
        ///
        /// - Parameters:
        ///   - modulus: An odd number of 2048 to 8192 bits, with the highest byte first and without zero
        ///     bytes in front.
        ///   - exponent: An odd number from 65537 to 2^64 - 1, in the same form.
        /// - Throws: `invalidInput` if a number is not permitted.
        public init(modulus: [UInt8], exponent: [UInt8]) throws(CofferError) {
            guard Self.isPermitted(modulus.span, exponent.span) else {
                throw CofferError(
                    .invalidInput,
                    "An RSA key must have an odd modulus of 2048 to 8192 bits and an odd exponent from 65537."
                )
            }
            self.modulus = modulus
            self.exponent = exponent
        }

        /// The number of bits of the modulus.
        public var size: Int { Self.bits(modulus.span) }

        private static func bits(_ number: Span<UInt8>) -> Int {
            guard number.count > 0 else { return 0 }
            return number.count * 8 - number[0].leadingZeroBitCount
        }

        static func isPermitted(_ modulus: Span<UInt8>, _ exponent: Span<UInt8>) -> Bool {
            guard modulus.count > 0, modulus[0] != 0, modulus[modulus.count - 1] & 1 == 1,
                RSASignature.modulusSizes.contains(bits(modulus))
            else { return false }
            // The smallest odd number above 2^16 is 65537.
            return exponent.count > 0 && exponent[0] != 0 && exponent.count <= 8
                && exponent[exponent.count - 1] & 1 == 1 && bits(exponent) > 16
        }
    }
}
