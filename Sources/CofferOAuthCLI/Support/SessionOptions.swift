import ArgumentParser

/// The name of a session on the command line.
struct SessionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var profile: String

    @Option(help: "The account; not necessary if the profile has one session only.")
    var account: String?
}
