import CofferBase
import CofferEngine

/// The meaning of data that a client asks an SSH agent to sign.
package enum SSHSignedData: Sendable, Equatable {
    /// A sign-in to a server as this user, in the session with this identifier (RFC 4252, section 7).
    case signIn(user: String, session: [UInt8])
    /// A signature of a file, a commit or a message for this namespace, by `ssh-keygen -Y sign` or git.
    case file(namespace: String)
    /// Something else.
    case other

    /// Returns the meaning of data.
    package init(_ data: [UInt8]) {
        if data.starts(with: Array("SSHSIG".utf8)) {
            self = Self.file(data) ?? .other
        } else {
            self = Self.signIn(data) ?? .other
        }
    }

    private static func file(_ data: [UInt8]) -> SSHSignedData? {
        let bytes = data.span
        var reader = SSHReader(6..<bytes.count)
        guard let namespace = reader.text(bytes), !namespace.isEmpty, reader.string(bytes) != nil,
            reader.string(bytes) != nil, reader.string(bytes) != nil, reader.isAtEnd
        else { return nil }
        return .file(namespace: namespace)
    }

    private static func signIn(_ data: [UInt8]) -> SSHSignedData? {
        let bytes = data.span
        var reader = SSHReader(0..<bytes.count)
        guard let session = reader.string(bytes), reader.byte(bytes) == 50, let user = reader.text(bytes),
            reader.skip("ssh-connection", bytes), let method = reader.text(bytes), reader.byte(bytes) == 1,
            reader.text(bytes) != nil, reader.string(bytes) != nil
        else { return nil }
        if method.hasSameBytes(as: "publickey-hostbound-v00@openssh.com") {
            guard reader.string(bytes) != nil else { return nil }
        } else if !method.hasSameBytes(as: "publickey") {
            return nil
        }
        guard reader.isAtEnd else { return nil }
        return .signIn(user: user, session: Array(data[session]))
    }

    /// The words that complete the question whether to sign.
    var purpose: String {
        switch self {
        case .signIn(let user, _): "to sign in as \(user.inQuestion)"
        case .file(let namespace) where namespace.hasSameBytes(as: "git"): "to sign a git commit or tag"
        case .file(let namespace): "to sign data for \(namespace.inQuestion)"
        case .other: "to sign data of an unknown kind"
        }
    }
}

extension String {
    /// The text for one line of a question: a peer chose it, so it must look like neither another line nor
    /// another question. Control characters and line separators become question marks, and a long text ends
    /// with an ellipsis.
    var inQuestion: String {
        let longest = 100
        // Not bytes: a person reads the text.
        let scalars = unicodeScalars.prefix(longest).map { scalar -> UnicodeScalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "?"
            default: scalar
            }
        }
        let isCut = unicodeScalars.count > longest
        return String(String.UnicodeScalarView(scalars)) + (isCut ? "\u{2026}" : "")
    }
}
