import CofferBase
import CofferCrypto
import CofferDBus

/// The sessions in which secrets travel. A session belongs to the connection that opened it.
struct SessionTable {
    /// The most sessions of one connection. Python's SecretStorage opens one for each item that it reads, and
    /// closes none.
    static let limitPerOwner = 256
    /// The most sessions of all connections together: each holds a key in guarded memory.
    static let limit = 1024
    /// The number of sessions that a connection may open from the reserve.
    static let few = 4
    /// How many of all sessions are reserved for connections with few: a program needs one or two, so those
    /// that take all they can get leave something for the others.
    static let reserve = 256

    private struct Session {
        let owner: String
        /// `nil` for the algorithm `plain`.
        let transport: SecretTransport?
    }

    private var sessions: [Int: Session] = [:]
    private var counts: [String: Int] = [:]
    private var last = 0

    /// Opens a session.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm's name.
    ///   - input: The peer's value.
    ///   - owner: The peer's name on the bus.
    /// - Returns: The session's number, and the value for the peer.
    /// - Throws: The error for the peer.
    mutating func open(
        _ algorithm: String, _ input: BusContent?, owner: String
    ) throws(ServiceError) -> (number: Int, output: BusContent) {
        try checkLimits(of: owner)
        let transport: SecretTransport?
        let output: BusContent
        if algorithm.hasSameBytes(as: ServiceName.plain) {
            (transport, output) = (nil, .text(""))
        } else if algorithm.hasSameBytes(as: ServiceName.encrypted) {
            guard let peer = input?.bytes else {
                throw .invalid("The algorithm needs the peer's value as bytes (ay).")
            }
            do throws(CofferError) {
                let agreed = try SecretTransport.agree(with: peer.span)
                (transport, output) = (agreed.transport, .bytes(agreed.publicValue))
            } catch {
                throw ServiceError(error)
            }
        } else {
            throw .unsupported("The algorithms are \(ServiceName.plain) and \(ServiceName.encrypted).")
        }
        last += 1
        sessions[last] = Session(owner: owner, transport: transport)
        counts[owner, default: 0] += 1
        return (last, output)
    }

    private func checkLimits(of owner: String) throws(ServiceError) {
        let own = counts[owner, default: 0]
        guard own < Self.limitPerOwner else {
            throw .limit("This connection has \(own) open sessions, which is the limit. Close some.")
        }
        guard sessions.count < (own < Self.few ? Self.limit : Self.limit - Self.reserve) else {
            throw .limit("All programs together have too many open sessions. Close some of yours.")
        }
    }

    /// Ends a session; throws if it is not one of this owner's.
    mutating func close(_ number: Int, owner: String) throws(ServiceError) {
        guard sessions[number]?.owner.hasSameBytes(as: owner) == true else { throw .noSession }
        sessions[number] = nil
        forget(owner, 1)
    }

    /// Ends the sessions of a connection that has left the bus.
    mutating func closeAll(of owner: String) {
        guard counts[owner] != nil else { return }
        sessions = sessions.filter { !$0.value.owner.hasSameBytes(as: owner) }
        counts[owner] = nil
    }

    private mutating func forget(_ owner: String, _ number: Int) {
        let left = counts[owner, default: 0] - number
        counts[owner] = left > 0 ? left : nil
    }

    /// Returns a session's transport, `nil` for `plain`; throws if it is not one of this owner's.
    func transport(_ number: Int, owner: String) throws(ServiceError) -> SecretTransport? {
        guard let session = sessions[number], session.owner.hasSameBytes(as: owner) else { throw .noSession }
        return session.transport
    }

    var numbers: [Int] { sessions.keys.sorted() }
}
