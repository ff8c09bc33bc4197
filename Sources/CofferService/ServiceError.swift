import CofferBase

/// An error that a caller on the bus receives.
struct ServiceError: Error, Sendable {
    let name: String
    let text: String

    private init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }

    static let isLocked = ServiceError(
        "org.freedesktop.Secret.Error.IsLocked", "The collection is locked. Unlock it first.")
    static let noSession = ServiceError(
        "org.freedesktop.Secret.Error.NoSession", "There is no such session of this caller. Open a session.")
    static let noSuchObject = ServiceError(
        "org.freedesktop.Secret.Error.NoSuchObject", "There is no such object.")

    static func invalid(_ text: String) -> ServiceError {
        ServiceError("org.freedesktop.DBus.Error.InvalidArgs", text)
    }

    static func unsupported(_ text: String) -> ServiceError {
        ServiceError("org.freedesktop.DBus.Error.NotSupported", text)
    }

    static func limit(_ text: String) -> ServiceError {
        ServiceError("org.freedesktop.DBus.Error.LimitsExceeded", text)
    }

    static func failed(_ text: String) -> ServiceError {
        ServiceError("org.freedesktop.DBus.Error.Failed", text)
    }

    static let unknownMethod = ServiceError(
        "org.freedesktop.DBus.Error.UnknownMethod", "The object has no such method with these arguments.")
    static let unknownInterface = ServiceError(
        "org.freedesktop.DBus.Error.UnknownInterface", "The object has no such interface.")
    static let unknownProperty = ServiceError(
        "org.freedesktop.DBus.Error.UnknownProperty", "The interface has no such property.")
    static let readOnly = ServiceError(
        "org.freedesktop.DBus.Error.PropertyReadOnly", "This property cannot be set.")

    /// The error for a caller when the vault refused.
    init(_ error: CofferError) {
        switch error.code {
        case .locked, .wiped: self = .isLocked
        case .absent: self = .noSuchObject
        case .invalidInput, .notAuthentic: self = .invalid(error.message)
        case .noSpace:
            self.init("org.freedesktop.DBus.Error.NoMemory", error.message)
        case .outOfMemory: self.init("org.freedesktop.DBus.Error.NoMemory", error.message)
        case .busy, .timedOut: self.init("org.freedesktop.DBus.Error.Timeout", error.message)
        case .permissionDenied, .readOnly, .refused:
            self.init("org.freedesktop.DBus.Error.AccessDenied", error.message)
        default: self = .failed(error.message)
        }
    }
}
