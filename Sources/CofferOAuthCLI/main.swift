import ArgumentParser
import CofferCommandLine
import CofferEngine

// The same start as that of the program coffer, which runs this one: see its main.swift.
do {
    try ProcessHardening.apply()
    // coffer asked for it. A browser that this program starts is none of its concern.
    ImmediateBinding.withdraw()
    try ProgramArguments.check()
    let arguments = ProgramArguments.all
    StartRoom.endIfUnableToReport(
        before: "coffer: ", document: GlobalOptions.wantsJSON(arguments) ? Failure.noMemoryDocument : nil)
    try StartRoom.check(isUrgent: false)
} catch {
    OAuthRoot.exit(
        withError: Failure.reported(
            error, asJSON: GlobalOptions.wantsJSON(ProgramArguments.all), root: OAuthRoot.self))
}
Threads.makeOwn()
MainExecutor.run { await OAuthRoot.start(ProgramArguments.all) }
