/// The time at which a session at the server ends, whatever the server says.
public enum GrantPolicy: Sendable, Hashable {
    /// When the server ends it.
    case untilRevoked
    /// After the first access token.
    case onceOnly
    /// At each start of the program.
    case eachStart
    /// When it was not used for this time.
    case idle(Duration)
    /// This time after the sign-in.
    case absolute(Duration)

    /// An hour after the sign-in.
    public static let hourly = GrantPolicy.absolute(.seconds(3600))
    /// A day after the sign-in.
    public static let daily = GrantPolicy.absolute(.seconds(86400))
    /// 30 days after the sign-in.
    public static let monthly = GrantPolicy.absolute(.seconds(30 * 86400))

    var duration: Duration? {
        switch self {
        case .idle(let time), .absolute(let time): time
        default: nil
        }
    }
}
