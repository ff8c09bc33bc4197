import ArgumentParser
import CofferCommandLine
import CofferEngine

// The same start as that of the program coffer, which runs this one: see its main.swift.
do {
    try ProcessHardening.apply()
    try ProgramArguments.check()
    let arguments = ProgramArguments.all
    StartRoom.endIfUnableToReport(
        before: "coffer: ", document: GlobalOptions.wantsJSON(arguments) ? Failure.noMemoryDocument : nil)
    try StartRoom.check(isUrgent: false)
} catch {
    DatabaseRoot.exit(
        withError: Failure.reported(
            error, asJSON: GlobalOptions.wantsJSON(ProgramArguments.all), root: DatabaseRoot.self))
}
Threads.makeOwn()
OpenSSLAlgorithm.startWithoutTables()
MainExecutor.run { await DatabaseRoot.start(ProgramArguments.all) }
