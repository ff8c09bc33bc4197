import CofferEngine

/// The names of the links by which other programs call this one, and the command for each name.
enum ProgramName {
    static let git = "git-credential-coffer"
    static let docker = "docker-credential-coffer"

    /// The arguments of this process, preceded by the command that belongs to the name by which it was
    /// called.
    static var arguments: [String] {
        switch ProgramArguments.programName {
        case git: [GitCredential.name] + ProgramArguments.all
        case docker: [DockerCredential.name] + ProgramArguments.all
        default: ProgramArguments.all
        }
    }
}
