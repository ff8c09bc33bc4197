package import CofferBase
import COpenSSL

/// ECDSA over P-256 with SHA-256, or another curve with its hash function (FIPS 186-5), computed by OpenSSL:
/// private keys are numbers, public keys uncompressed points, signatures the numbers r and s. With P-256,
/// they have 32, 65 and 64 bytes.
package enum ECDSABinding {
    /// Returns a new private key: random bytes, drawn again until they are a valid number.
    package static func generate(_ curve: ECDSACurve = .p256) throws(CofferError) -> GuardedBytes {
        while true {
            let key = try GuardedBytes.random(count: curve.privateKeySize)
            if isKey(key, curve) { return key }
        }
    }

    /// Returns whether the bytes are a number from 1 to the order of the group less 1. The time that this
    /// takes reveals nothing but the size.
    private static func isScalar(_ bytes: Span<UInt8>, _ curve: ECDSACurve) -> Bool {
        let order = curve.order
        guard bytes.count == order.count else { return false }
        var (anyBit, borrow): (UInt8, Int) = (0, 0)
        for index in order.indices.reversed() {
            anyBit |= bytes[index]
            borrow = (Int(bytes[index]) - Int(order[index]) - borrow) >> 8 & 1
        }
        return anyBit != 0 && borrow == 1
    }

    private static func isKey(_ key: borrowing GuardedBytes, _ curve: ECDSACurve) -> Bool {
        isScalar(key.span, curve)
    }

    private static func throwIfNoKey(
        _ privateKey: Span<UInt8>, _ curve: ECDSACurve
    ) throws(CofferError) {
        guard isScalar(privateKey, curve) else {
            throw CofferError(
                .invalidInput, "The bytes are not a private key for ECDSA with \(curve.name).")
        }
    }

    /// Returns the public key that belongs to `privateKey`.
    package static func publicKey(
        privateKey: Span<UInt8>, _ curve: ECDSACurve = .p256
    ) throws(CofferError) -> [UInt8] {
        try throwIfNoKey(privateKey, curve)
        OpenSSLAlgorithm.keepEverythingAtExit()
        guard let group = unsafe EC_GROUP_new_by_curve_name_ex(nil, nil, curve.number) else {
            throw OpenSSLFailure.unexpected("EC_GROUP_new_by_curve_name_ex")
        }
        defer { unsafe EC_GROUP_free(group) }
        guard let point = unsafe EC_POINT_new(group) else {
            throw OpenSSLFailure.unexpected("EC_POINT_new")
        }
        defer { unsafe EC_POINT_free(point) }
        guard let scalar = unsafe BN_secure_new() else { throw OpenSSLFailure.unexpected("BN_secure_new") }
        defer { unsafe BN_clear_free(scalar) }
        unsafe BN_set_flags(scalar, BN_FLG_CONSTTIME)
        let read = unsafe privateKey.withPointer {
            unsafe BN_bin2bn($0, Int32(privateKey.count), scalar) != nil
        }
        guard read, unsafe EC_POINT_mul(group, point, scalar, nil, nil, nil) == 1 else {
            throw OpenSSLFailure.unexpected("EC_POINT_mul")
        }
        let publicKeySize = curve.publicKeySize
        var publicKey = [UInt8](repeating: 0, count: publicKeySize)
        let count = unsafe EC_POINT_point2oct(
            group, point, POINT_CONVERSION_UNCOMPRESSED, &publicKey, publicKeySize, nil)
        guard count == publicKeySize else { throw OpenSSLFailure.unexpected("EC_POINT_point2oct") }
        return publicKey
    }

    /// Returns a signature of `message`, which differs each time.
    package static func sign(
        _ message: Span<UInt8>, privateKey: Span<UInt8>, _ curve: ECDSACurve = .p256
    ) throws(CofferError) -> [UInt8] {
        let der = try SignatureContext.sign(message, try key(of: privateKey, curve), .ecdsa, curve.digest)
        return try raw(der, curve)
    }

    /// Returns a signature of the message with this digest, which differs each time.
    package static func sign(
        digest: Span<UInt8>, privateKey: Span<UInt8>, _ curve: ECDSACurve
    ) throws(CofferError) -> [UInt8] {
        let der = try DigestSignature.sign(digest, try key(of: privateKey, curve), .ecdsa)
        return try raw(der, curve)
    }

    private static func raw(_ der: [UInt8], _ curve: ECDSACurve) throws(CofferError) -> [UInt8] {
        guard let raw = ECDSASignatureEncoding.raw(der.span, numberSize: curve.privateKeySize) else {
            throw OpenSSLFailure.unexpected("EVP_DigestSign")
        }
        return raw
    }

    /// Returns OpenSSL's key with the private number alone, which is enough to sign.
    private static func key(
        of privateKey: Span<UInt8>, _ curve: ECDSACurve
    ) throws(CofferError) -> SignatureKey {
        try throwIfNoKey(privateKey, curve)
        let name = curve.name
        var number = try reversed(privateKey)
        var span = number.mutableSpan
        let key = unsafe span.withPointer { number in
            unsafe SignatureKey.make(
                "EC", .keyPair,
                [
                    OSSLParameters.text(OSSLParameters.group, name),
                    OSSLParameters.number(OSSLParameters.privateKey, number, curve.privateKeySize),
                ])
        }
        guard let key else { throw OpenSSLFailure.unexpected("EVP_PKEY_fromdata") }
        return key
    }

    /// Returns a copy with the lowest byte first, as OpenSSL's parameters have it.
    private static func reversed(_ number: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        let count = number.count
        return try GuardedBytes.filled(count: count) { (span) throws(CofferError) in
            for index in 0..<count { span[index] = number[count - 1 - index] }
        }
    }

    /// Returns OpenSSL's key with both numbers: TLS compares the public one with that of the certificate.
    static func keyPair(_ privateKey: Span<UInt8>) throws(CofferError) -> SignatureKey {
        let curve = ECDSACurve.p256
        let name = curve.name
        let point = try publicKey(privateKey: privateKey)
        var number = try reversed(privateKey)
        var span = number.mutableSpan
        let key = unsafe span.withPointer { number in
            unsafe point.withUnsafeBytes { point in
                unsafe SignatureKey.make(
                    "EC", .keyPair,
                    [
                        OSSLParameters.text(OSSLParameters.group, name),
                        OSSLParameters.number(OSSLParameters.privateKey, number, curve.privateKeySize),
                        OSSLParameters.octets(OSSLParameters.publicKey, point),
                    ])
            }
        }
        guard let key else { throw OpenSSLFailure.unexpected("EVP_PKEY_fromdata") }
        return key
    }

    /// Returns whether the bytes are an uncompressed point of the curve.
    package static func isPublicKey(_ bytes: Span<UInt8>, _ curve: ECDSACurve = .p256) -> Bool {
        key(bytes, curve) != nil
    }

    /// Returns whether `signature` is valid for `message`. Returns `false` if the signature has the wrong
    /// size or the public key is not an uncompressed point of the curve.
    package static func isValid(
        signature: Span<UInt8>, for message: Span<UInt8>, publicKey: Span<UInt8>,
        _ curve: ECDSACurve = .p256
    ) throws(CofferError) -> Bool {
        guard let der = ECDSASignatureEncoding.der(signature, numberSize: curve.privateKeySize),
            let key = key(publicKey, curve)
        else { return false }
        return try SignatureContext.isValid(der.span, for: message, key, .ecdsa, curve.digest)
    }

    private static func key(_ publicKey: Span<UInt8>, _ curve: ECDSACurve) -> SignatureKey? {
        let name = curve.name
        guard publicKey.count == curve.publicKeySize, publicKey[0] == 4 else { return nil }
        return unsafe publicKey.withUnsafeBytes { point in
            unsafe SignatureKey.make(
                "EC", .publicKey,
                [
                    OSSLParameters.text(OSSLParameters.group, name),
                    OSSLParameters.octets(OSSLParameters.publicKey, point),
                ])
        }
    }
}
