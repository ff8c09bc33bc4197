import CofferBase
import CofferCrypto

/// The keys of the targets that read signed tokens, and tokens that were signed once.
///
/// The private halves of the foreign keys were deleted when the tokens were signed.
enum FuzzKeys {
    /// The foreign keys, without names.
    static let foreign = JSONWebKeySet(
        [edwards, elliptic, rsa].compactMap { try? JSONWebKey(parsing: JSONValue(parsing: Array($0.utf8))) })

    /// The texts that the owners of the foreign keys signed.
    static let messages: [JSONWebToken.Algorithm: String] = tokens.mapValues { token in
        String(
            decoding: token.utf8[..<(token.utf8.lastIndex(of: UInt8(ascii: ".")) ?? token.endIndex)],
            as: UTF8.self)
    }

    /// Returns the key that signs in the target.
    static func signing() throws(CofferError) -> JSONWebSigningKey {
        try .make(.edDSA, secret: SecretBytes.copying([UInt8](repeating: 7, count: 32).span))
    }

    private static let edwards =
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"zQCsQCPqaNakrRRYuEG-wc086-vSn_0mS6diTWr"
        + "7LJs\"}"
    private static let elliptic =
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"h3nWgmkUJPtqPom7AT-b8uDfT79EYa22iVxH7Sb3Op"
        + "o\",\"y\":\"ChqBKoE3GS3Y-1VM0ZTp1bQX0K4CpHYIKBDLs3qLWcI\"}"
    private static let rsa =
        "{\"kty\":\"RSA\",\"n\":\"5wcqGSLj1wVntZQSYnUke3agqF8g8EGem-UUgAZXBvSpJxwjzxc5zGZK1He"
        + "XNl8ZzaTsJzS-SaO2Q4Hgi9Q1obULR6_B9mLJ3ZDvH91uFH1e5HZNOmyDy3imtUxioYsak2438mqL6Bd1O_4"
        + "v5U0fT7iFn7q2v-T5ztRcxNmloAqutKo6Xa2NnnFkACooFKf08WODrdQcGAbB4mAAoV--C7kpYaqEKXsCWdv"
        + "S9FCxqQUwHd0q-ECoACIXty3Gg7La6RAPrGTa34vplRldaymEN3END1fBbJcyYnPixu9WvfvLBkprcRY3VEz"
        + "TuO1iE2VSffKUDgNz9e6J8hDapZYMFw\",\"e\":\"AQAB\"}"

    /// A token under each foreign key and algorithm.
    static let tokens: [JSONWebToken.Algorithm: String] = [
        .edDSA:
            "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZGEifQ.2QYa8al8DnOgOu_Z8VJ-s0tPiWpTZ4XurVtGPzZffrBV"
            + "tRpCU1RMgEYLT4awbJxKnUxWxp9fgj8OnaKUdvayBg",
        .es256:
            "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.4Yeakzh4P4TFendAmUtGT807ycCBJ_WHsfyd9ot_PZn8"
            + "ShfVpZnR9N050zHKo9fJ-UXXa5yjstkVIWn9gJzmuQ",
        .rs256:
            "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.EABFuCuc7xb6gY4jeYrMbBiZwknQDW_KzbLlYGrOdiD9"
            + "YDAmfBIr22GjBk34urgmeGnzNI8ZpgiY5W69THgB3y7kaPxGoF2ab92Kf5zYJbVqSidUEWy_NBsrlAK8EC4T"
            + "2xCMPEbhQQx2yvTXXmJEOwWNpsP9AgeaxBNVr5dsQqCNWYcGmAKukHJ1pklxPnoO1wFPBXclexOx9Y2BjlY9"
            + "Wk_5rA4rOMIQSMUlIp_FCbiYbqaxhIoHy2MFlWyBR7yUGdFv5rNCUpkSLlrb0hStTgk1APZJqFTbNJLf3Mw8"
            + "HlrUHxzqv9CLxKIhsBQkTxPRLUX5By8FH32716b1PNgphQ",
        .ps256:
            "eyJhbGciOiJQUzI1NiJ9.eyJzdWIiOiJhZGEifQ.5D9EhttCGGC2IEJUF-vho8oGuOeTZqyCC8MGaAGzBALz"
            + "naRLE9LmqVQRyq_4jcFd_LM8qFJd-JGpdkK5wzO-vKqbpDP1u1rdMOS_9F_3RDLJQzMjeawRXVgv6-4v_qZy"
            + "fcuF0lsCZ7uxgNkUUpq9bWHLMzx3N3Dcb2WCKwaOSXlaVg1MdS7CKUgOL205VQeUahpBE7rcgDrz980SmUlg"
            + "KTHTaTZp_Y4yKJcZ3F-1W4mS_OBl7n65fihD_YBNCtt-n0BKZ-wnWn-go4zEBJWiew9mv65QNMgFsadbXG3H"
            + "5R1w5-2EnHOoOV3ZpsHBoGP4fpK79aY2q02mqvMVUzRfNw",
    ]
}
