import CofferEngine

/// The names of the links through which other programs run this program, and the command for each name.
enum ProgramName {
    static let git = "git-credential-coffer"
    static let docker = "docker-credential-coffer"

    /// This process's arguments, preceded by the command for the name under which the process was started.
    static var arguments: [String] {
        switch ProgramArguments.programName {
        case git: [GitCredential.name] + ProgramArguments.all
        case docker: [DockerCredential.name] + ProgramArguments.all
        default: ProgramArguments.all
        }
    }
}
