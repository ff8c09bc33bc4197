/// The names of the Secret Service specification.
package enum ServiceName {
    /// The name that a Secret Service owns on the bus.
    package static let bus = "org.freedesktop.secrets"
    /// The path of the service's object, above all others.
    package static let root = "/org/freedesktop/secrets"

    static let service = "org.freedesktop.Secret.Service"
    static let collection = "org.freedesktop.Secret.Collection"
    static let item = "org.freedesktop.Secret.Item"
    static let session = "org.freedesktop.Secret.Session"
    static let prompt = "org.freedesktop.Secret.Prompt"
    static let properties = "org.freedesktop.DBus.Properties"
    static let introspectable = "org.freedesktop.DBus.Introspectable"
    static let peer = "org.freedesktop.DBus.Peer"

    /// The algorithm that sends secrets as they are.
    static let plain = "plain"
    /// The algorithm of ``SecretTransport``.
    static let encrypted = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

    /// The path that stands for no object.
    static let none = "/"

    static func collection(_ id: String) -> String { root + "/collection/" + id }
    static func item(_ key: ItemKey) -> String { collection(key.collection) + "/" + key.item }
    static func session(_ number: Int) -> String { root + "/session/s\(number)" }
    static func prompt(_ number: Int) -> String { root + "/prompt/p\(number)" }

    /// Whether `id` can be the last part of an object's path and the name of an alias.
    static func isElement(_ id: String) -> Bool {
        !id.isEmpty && id.utf8.count <= 128
            && id.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }
}

/// An item's collection and its name there, both of ASCII letters, digits and underscores.
package struct ItemKey: Sendable, Hashable {
    let collection: String
    let item: String
}
