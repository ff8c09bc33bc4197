import ArgumentParser
import CofferEngine
import Dispatch

// Before anything secret exists in this process: no core dumps, no crash handler that prints memory, and
// nothing opened under the number of a standard stream. An asynchronous main would open descriptors before.
do {
    try ProcessHardening.apply()
} catch {
    CofferCommand.exit(withError: Failure.reported(error, asJSON: false))
}
Task { await CofferCommand.start(CalledName.arguments) }
dispatchMain()
