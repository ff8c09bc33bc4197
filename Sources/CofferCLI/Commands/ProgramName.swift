import CofferEngine

/// The names of links under which other programs call this one, and the command for each.
enum ProgramName {
    static let git = "git-credential-coffer"
    static let docker = "docker-credential-coffer"

    /// The arguments of this process, preceded by the command for the name it was called by.
    static var arguments: [String] {
        switch ProgramArguments.programName {
        case git: [GitCredential.name] + ProgramArguments.all
        case docker: [DockerCredential.name] + ProgramArguments.all
        default: ProgramArguments.all
        }
    }
}
