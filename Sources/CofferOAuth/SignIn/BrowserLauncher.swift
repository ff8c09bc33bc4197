import Coffer
public import CofferBase
import CofferEngine

/// A launcher of the user's own browser: the programs that `$BROWSER` lists, then `xdg-open`.
///
/// No shell is involved: every program receives an argument vector. A program can be a shell script itself,
/// as `xdg-open` is, so the characters `!$'()*;` of the URL are percent-encoded. Other users of the same
/// machine may be able to read the arguments of a running program, so the URL must not contain a secret.
/// The URL of an ``AuthorizationRequest`` contains `state`, perhaps `nonce`, and the challenge. Whoever reads
/// them cannot redeem a code, because the verifier stays in this process, but can sign in as someone else and
/// bring that answer to the listener. ``LoopbackListener`` therefore takes no answer from another user.
public struct BrowserLauncher: Sendable {
    private static let maxProgramCount = 16

    /// The programs with their arguments, in the order in which they are tried.
    let commands: [[String]]
    private let patience: Duration

    /// Creates a launcher.
    ///
    /// - Parameter programs: The value of `$BROWSER`: programs separated by colons, each with arguments
    ///   separated by spaces. `%s` stands for the URL, `%c` for a colon and `%%` for a percent sign. Without
    ///   `%s`, the URL is the last argument.
    public init(programs: String?) { self.init(programs: programs, patience: .seconds(5)) }

    /// Creates a launcher from this process's environment.
    public init() { self.init(programs: Environment.value("BROWSER")) }

    init(programs: String?, patience: Duration, fallback: [String] = ["xdg-open"]) {
        let listed = (programs ?? "").parts(between: ":").map { $0.parts(between: " ") }
        commands = Array(listed.filter { !$0.isEmpty }.prefix(Self.maxProgramCount)) + [fallback]
        self.patience = patience
    }

    /// Opens a URL in the first browser that starts. A program that is still running after five seconds
    /// counts as a browser and goes on running.
    ///
    /// - Parameter url: The URL, which must not contain a secret.
    /// - Throws: `unsupported` if no program could open the URL; `cancelled`.
    public func open(_ url: HTTPSURL) async throws(CofferError) {
        try await BlockingExecutor.run { (cancellation) throws(CofferError) in
            try self.openBlocking(url) { cancellation.isCancelled }
        }
    }

    private func openBlocking(_ url: HTTPSURL, isCancelled: () -> Bool) throws(CofferError) {
        for command in commands {
            guard !isCancelled() else { throw CofferError(.cancelled, "Opening the browser was cancelled.") }
            if isOpened(Self.arguments(command, url), isCancelled) { return }
        }
        throw CofferError(.unsupported, "No browser could be started. Open the address yourself.")
    }

    /// Whether a program has opened the URL. The reason why it has not is of no use while others remain.
    private func isOpened(_ arguments: [[UInt8]], _ isCancelled: () -> Bool) -> Bool {
        do throws(CofferError) {
            let outcome = try DetachedProcess.start(
                arguments, patience: patience, isCancelled: isCancelled)
            return outcome == .running || outcome == .ended(0)
        } catch {
            return false
        }
    }

    /// Returns the URL for a program, which may be a shell script, as `xdg-open` is: characters that a URL
    /// can contain and that mean something in a shell are percent-encoded.
    private static func escaped(_ url: HTTPSURL) -> [UInt8] {
        url.text.utf8.flatMap { byte -> [UInt8] in
            guard "!$'()*;".utf8.contains(byte) else { return [byte] }
            return Array(FormEncoding.percentEncoded(String(Unicode.Scalar(byte))).utf8)
        }
    }

    /// Returns the argument vector of a command.
    static func arguments(_ command: [String], _ url: HTTPSURL) -> [[UInt8]] {
        let address = escaped(url)
        var arguments: [[UInt8]] = []
        var hasURL = false
        for word in command {
            var argument: [UInt8] = []
            var isMarked = false
            for byte in word.utf8 {
                switch (isMarked, byte) {
                case (false, UInt8(ascii: "%")):
                    isMarked = true
                    continue
                case (true, UInt8(ascii: "s")):
                    argument += address
                    hasURL = true
                case (true, UInt8(ascii: "c")): argument.append(UInt8(ascii: ":"))
                case (true, UInt8(ascii: "%")): argument.append(byte)
                case (true, _): argument += [UInt8(ascii: "%"), byte]
                case (false, _): argument.append(byte)
                }
                isMarked = false
            }
            if isMarked { argument.append(UInt8(ascii: "%")) }
            arguments.append(argument)
        }
        return hasURL ? arguments : arguments + [address]
    }
}
