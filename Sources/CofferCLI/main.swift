import ArgumentParser
import CofferEngine

// Before anything secret exists in this process: no core dumps, no crash handler that prints memory, and
// nothing opened under the number of a standard stream. An asynchronous main would open descriptors before,
// and start threads, which a process that becomes a viewer in a namespace of its own must not have. Commands
// run on this thread: they have to work where no other can be had.
do {
    try ProcessHardening.apply()
    try ProgramArguments.check()
    try StartRoom.check(isUrgent: CofferCommand.isUrgent(ProgramArguments.all))
} catch {
    CofferCommand.exit(
        withError: Failure.reported(error, asJSON: GlobalOptions.wantsJSON(ProgramArguments.all)))
}
MountNamespace.execIfRequested(ProgramArguments.all)
Threads.makeOwn()
MainExecutor.run { await CofferCommand.start(ProgramName.arguments) }
