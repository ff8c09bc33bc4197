import CofferEngine

/// The link names under which other programs run this one, and the command for each name.
enum ProgramName {
    static let git = "git-credential-coffer"
    static let docker = "docker-credential-coffer"

    /// This process's arguments, preceded by the command for the name under which it was run.
    static var arguments: [String] {
        switch ProgramArguments.programName {
        case git: [GitCredential.name] + ProgramArguments.all
        case docker: [DockerCredential.name] + ProgramArguments.all
        default: ProgramArguments.all
        }
    }
}
