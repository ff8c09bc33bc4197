import ArgumentParser
import CofferEngine

// Before anything secret exists in this process: no core dumps, no crash handler that prints memory.
do {
    try ProcessHardening.apply()
} catch {
    CofferCommand.exit(withError: Failure.reported(error, asJSON: false))
}
await CofferCommand.start(CommandLine.arguments.dropFirst())
