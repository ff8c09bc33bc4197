import CofferEngine

/// The names of links to this program under which others call it, and the command that each stands for.
enum ProgramName {
    static let git = "git-credential-coffer"
    static let docker = "docker-credential-coffer"

    /// The arguments of this process, with the command that its name stands for in front.
    static var arguments: [String] {
        switch ProgramArguments.programName {
        case git: [GitCredential.name] + ProgramArguments.all
        case docker: [DockerCredential.name] + ProgramArguments.all
        default: ProgramArguments.all
        }
    }
}
