import Coffer
import CofferBase

/// The names of the members of a stored record.
private enum Member {
    static let version = "version", state = "state", intent = "intent", step = "step"
    static let generation = "generation", issuer = "issuer", subject = "subject", storage = "storage"
    static let programRun = "programRun", signedIn = "signedIn", lastRefresh = "lastRefresh"
    static let lastUse = "lastUse", scopes = "scopes", instance = "instanceURL"
    static let identity = "identityURL", skew = "clockSkew", hasKey = "hasDPoPKey"
    static let exchanges = "exchanges", failure = "failure", answerSize = "answerSize"
    static let erasure = "erasureDue"
    static let client = "clientID", endpoint = "tokenEndpoint", certificate = "certificateDigest"
    static let ownRevocation = "ownRevocation", keepsToken = "keepsRefreshToken"
    static let boot = "boot", sinceBoot = "sinceBoot", wall = "wall"
    static let key = "key", hash = "hash", tokenVersion = "tokenVersion", attempt = "attempt"
    static let began = "began"
}

extension GrantRecord {
    /// The version of the stored form.
    private static let version: Int64 = 1
    /// The greatest size of the stored form in bytes.
    static let maxByteCount = 1 << 18

    /// Returns the stored form: JSON with sorted keys.
    func encoded() throws(CofferError) -> [UInt8] {
        var members: [String: JSONValue] = [
            Member.version: .integer(Self.version), Member.generation: .string(generation),
            Member.issuer: .string(issuer), Member.storage: .string(storage.rawValue),
            Member.programRun: .string(programRun), Member.signedIn: signedIn.value,
            Member.lastUse: lastUse.value, Member.scopes: .array(scopes.map { .string($0) }),
            Member.hasKey: .bool(hasDPoPKey), Member.exchanges: .integer(exchanges),
            Member.answerSize: .integer(Int64(answerSize)), Member.state: .string(state.name),
        ]
        members[Member.intent] = state.intent?.value
        if case .leaving(let step) = state { members[Member.step] = .string(step) }
        members[Member.subject] = subject.map { .string($0) }
        members[Member.client] = clientID.map { .string($0) }
        members[Member.endpoint] = tokenEndpoint.map { .string($0) }
        members[Member.certificate] = certificateDigest.map { .string($0) }
        members[Member.ownRevocation] = ownRevocation?.value
        members[Member.lastRefresh] = lastRefresh?.value
        members[Member.instance] = instanceURL.map { .string($0) }
        members[Member.identity] = identityURL.map { .string($0) }
        members[Member.skew] = clockSkew.map { .integer($0) }
        if keepsRefreshToken { members[Member.keepsToken] = .bool(true) }
        if isErasureDue { members[Member.erasure] = .bool(true) }
        members[Member.failure] = failure.map { .string($0) }
        let bytes = Array(try JSONValue.object(members).jsonText().utf8)
        guard bytes.count <= Self.maxByteCount else {
            throw CofferError(.invalidInput, "The description of a session must be at most 256 KiB long.")
        }
        return bytes
    }

    /// Creates a record from its stored form.
    ///
    /// - Throws: `corrupt` if a member is missing, unknown, of the wrong type or invalid;
    ///   `unsupportedVersion` if a newer release stored the record.
    init(decoding bytes: [UInt8]) throws(CofferError) {
        var members = try JSONMembers(
            parsing: bytes, atMost: Self.maxByteCount, of: "The state of a session", code: .corrupt,
            remedy: .signIn)
        guard let version = try members.number(Member.version) else {
            throw members.invalid("the member \(Member.version) is missing")
        }
        guard version <= Self.version else {
            throw CofferError(
                .unsupportedVersion, "A newer release stored this session.", remedy: .useNewerRelease)
        }
        guard version == Self.version else { throw members.invalid("its version is not a version") }
        guard let storage = try members.word(Member.storage, as: GrantStorage.self),
            let scopes = try members.texts(Member.scopes), let hasKey = try members.flag(Member.hasKey),
            let signedIn = try members.stamp(Member.signedIn),
            let lastUse = try members.stamp(Member.lastUse)
        else { throw members.invalid("a member is missing") }
        self.init(
            generation: try members.requiredText(Member.generation),
            issuer: try members.requiredText(Member.issuer), storage: storage,
            programRun: try members.requiredText(Member.programRun), signedIn: signedIn, lastUse: lastUse,
            scopes: scopes)
        hasDPoPKey = hasKey
        state = try State(from: &members)
        subject = try members.text(Member.subject)
        clientID = try members.text(Member.client)
        tokenEndpoint = try members.text(Member.endpoint)
        certificateDigest = try members.text(Member.certificate)
        ownRevocation = try members.stamp(Member.ownRevocation)
        keepsRefreshToken = try members.flag(Member.keepsToken) ?? false
        lastRefresh = try members.stamp(Member.lastRefresh)
        instanceURL = try members.text(Member.instance)
        identityURL = try members.text(Member.identity)
        clockSkew = try members.number(Member.skew)
        exchanges = try members.count(Member.exchanges, atMost: .max)
        answerSize = Int(try members.count(Member.answerSize, atMost: 1 << 30))
        failure = try members.text(Member.failure)
        isErasureDue = try members.flag(Member.erasure) ?? false
        try members.finish()
    }
}

extension GrantRecord.State {
    /// The state's name, as it is stored and shown.
    package var name: String {
        switch self {
        case .paired: "paired"
        case .refreshing: "refreshing"
        case .uncertain: "uncertain"
        case .lost: "lost"
        case .revoked: "revoked"
        case .expired: "expired"
        case .leaving: "leaving"
        }
    }

    fileprivate init(from members: inout JSONMembers) throws(CofferError) {
        let name = try members.requiredText(Member.state)
        switch name {
        case "paired": self = .paired
        case "lost": self = .lost
        case "revoked": self = .revoked
        case "expired": self = .expired
        case "leaving": self = .leaving(step: try members.requiredText(Member.step))
        case "refreshing", "uncertain":
            guard let object = try members.object(Member.intent) else {
                throw members.invalid("the member \(Member.intent) is missing")
            }
            let intent = try RefreshIntent(from: object)
            self = name == "refreshing" ? .refreshing(intent) : .uncertain(intent)
        default: throw members.invalid("its state is unknown")
        }
    }
}

extension ClockStamp {
    fileprivate var value: JSONValue {
        .object([
            Member.boot: .string(boot), Member.sinceBoot: .integer(sinceBoot), Member.wall: .integer(wall),
        ])
    }

    fileprivate init(from members: JSONMembers) throws(CofferError) {
        var members = members
        guard let sinceBoot = try members.number(Member.sinceBoot),
            let wall = try members.number(Member.wall)
        else { throw members.invalid("a time is incomplete") }
        let boot = try members.requiredText(Member.boot)
        try members.finish()
        // Differences of such times cannot overflow.
        let limit = Int64.max / 4
        guard (0...limit).contains(sinceBoot), (-limit...limit).contains(wall) else {
            throw members.invalid("a time is outside its limits")
        }
        self.init(boot: boot, sinceBoot: sinceBoot, wall: wall)
    }
}

extension RefreshIntent {
    fileprivate var value: JSONValue {
        .object([
            Member.key: .string(HexText.encode(key)), Member.hash: .string(HexText.encode(hash)),
            Member.tokenVersion: .integer(Int64(version)), Member.attempt: .integer(Int64(attempt)),
            Member.began: began.value,
        ])
    }

    fileprivate init(from members: JSONMembers) throws(CofferError) {
        var members = members
        let key = HexText.decode(try members.requiredText(Member.key), lowerCaseOnly: true)
        let hash = HexText.decode(try members.requiredText(Member.hash), lowerCaseOnly: true)
        guard let key, let hash, key.count == 32, hash.count == 32,
            let began = try members.stamp(Member.began)
        else { throw members.invalid("the note of an attempt is invalid") }
        self.init(
            key: key, hash: hash, version: UInt64(try members.count(Member.tokenVersion, atMost: .max)),
            attempt: Int(try members.count(Member.attempt, atMost: Int64(Self.maxAttempt))), began: began)
        try members.finish()
    }
}

extension JSONMembers {
    /// Takes out a time; `nil` if there is none.
    fileprivate mutating func stamp(_ name: String) throws(CofferError) -> ClockStamp? {
        guard let object = try object(name) else { return nil }
        return try ClockStamp(from: object)
    }

    /// Takes out a number that is not negative; throws if there is none.
    fileprivate mutating func count(_ name: String, atMost limit: Int64) throws(CofferError) -> Int64 {
        guard let number = try number(name), (0...limit).contains(number) else {
            throw invalid("the member \(name) must be a whole number that is not negative")
        }
        return number
    }
}
