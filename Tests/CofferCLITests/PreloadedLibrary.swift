import TestSupport

/// Libraries of Tests/Faults that are preloaded into a command; each is built once, beside the command.
enum PreloadedLibrary {
    /// Fails calls to the kernel's keyrings.
    static let noKeyring = build("nokeyring")
    /// Reports an exit handler of OpenSSL's.
    static let exitHandlers = build("exithandlers")

    /// Fails exchanges of two names.
    static let noExchange = build("noexchange")
    /// Raises a signal at a chosen moment.
    static let endAt = build("endat")

    private static func build(_ name: String) -> String? {
        let target = CommandRun.cofferPath + "-\(name).so"
        let source = PackageRoot.path + "Tests/Faults/\(name).c"
        let run = try? CommandRun.run("cc", ["-shared", "-fPIC", "-O2", "-o", target, source])
        return run?.code == 0 ? target : nil
    }
}
