import ArgumentParser
import CofferEngine
import Dispatch

// Before anything secret exists in this process: no core dumps, no crash handler that prints memory, and
// nothing opened under the number of a standard stream. An asynchronous main would open descriptors before,
// and start threads, which a process that becomes a viewer in a namespace of its own must not have.
do {
    try ProcessHardening.apply()
} catch {
    CofferCommand.exit(withError: Failure.reported(error, asJSON: false))
}
PrivateView.becomeIfAsked(ProgramArguments.all)
Task { await CofferCommand.start(CalledName.arguments) }
dispatchMain()
