import ArgumentParser
import CofferCommandLine
import CofferEngine

// Before any secret exists in this process, disable core dumps and crash handlers that print memory, and keep
// files from being opened under the number of a standard stream. An asynchronous main would open descriptors
// and start threads before this point, but a process that becomes a viewer in a private mount namespace must
// not have other threads. Commands run on this thread because they must work even if no other thread can be
// created.
do {
    try ProcessHardening.apply()
    try ProgramArguments.check()
    let arguments = ProgramArguments.all
    StartRoom.endIfUnableToReport(
        before: "coffer: ", document: GlobalOptions.wantsJSON(arguments) ? Failure.noMemoryDocument : nil)
    try StartRoom.check(isUrgent: CofferCommand.isUrgent(arguments))
} catch {
    CofferCommand.exit(
        withError: Failure.reported(
            error, asJSON: GlobalOptions.wantsJSON(ProgramArguments.all), root: CofferCommand.self))
}
MountNamespace.execIfRequested(ProgramArguments.all)
Threads.makeOwn()
OpenSSLAlgorithm.startWithoutTables()
MainExecutor.run { await CofferCommand.start(ProgramName.arguments) }
