import ArgumentParser

/// The name of a session on the command line.
struct SessionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var profile: String

    @Option(help: "The account; default: the one without a name, or that of the profile's only session.")
    var account: String?
}
