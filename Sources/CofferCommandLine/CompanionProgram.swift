package import ArgumentParser
import CofferEngine

/// The start of a program that `coffer` runs for some of its commands, the same as that of `coffer` itself:
/// see its main.swift.
package enum CompanionProgram {
    /// Prepares the process. If this fails, ends it with a report.
    ///
    /// - Parameters:
    ///   - root: The program's command.
    ///   - withdraw: Undoes what `coffer` asked of this program's own children.
    package static func start(_ root: any ParsableCommand.Type, withdrawing withdraw: () -> Void = {}) {
        do {
            try ProcessHardening.apply()
            withdraw()
            try ProgramArguments.check()
            let arguments = ProgramArguments.all
            StartRoom.endIfUnableToReport(
                before: "coffer: ",
                document: GlobalOptions.wantsJSON(arguments) ? Failure.noMemoryDocument : nil)
            try StartRoom.check(isUrgent: false)
        } catch {
            root.exit(
                withError: Failure.reported(
                    error, asJSON: GlobalOptions.wantsJSON(ProgramArguments.all), root: root))
        }
        Threads.makeOwn()
    }
}
