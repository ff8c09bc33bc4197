import CofferBase

/// One parser under fuzzing: any bytes must be read, or refused with a `CofferError`.
struct FuzzTarget: Sendable {
    /// The name, also of its folder in `Corpus`.
    let name: String
    private let body: @Sendable ([UInt8], FuzzWorld) throws -> Void

    init(_ name: String, _ body: @escaping @Sendable ([UInt8], FuzzWorld) throws -> Void) {
        self.name = name
        self.body = body
    }

    /// Every target.
    static let all: [FuzzTarget] =
        records + indexes + containers + texts + messages + orders + databases + oauthProfiles
        + answers + jsonWebTokens + redirects + age + ssh + certificates + policies + backups

    /// Feeds `bytes` to the parser. A refusal is a result; everything else that is thrown is a finding.
    func run(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        do {
            try body(bytes, world)
        } catch is CofferError {
            return
        }
    }
}

/// Something that a parser must never do.
struct FuzzFinding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// Throws unless `condition` holds.
    static func require(_ condition: Bool, _ description: String) throws {
        guard condition else { throw FuzzFinding(description) }
    }
}

extension [UInt8] {
    /// The bytes cut or filled up with zeros to `count`.
    func resized(to count: Int) -> [UInt8] {
        Array(prefix(count)) + [UInt8](repeating: 0, count: Swift.max(0, count - self.count))
    }
}
