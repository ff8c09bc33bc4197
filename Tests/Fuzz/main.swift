import CFuzzer
import Foundation

// The program that libFuzzer drives: the target is named by COFFER_FUZZ_TARGET, the arguments are
// libFuzzer's. Scripts/fuzz builds and runs it; nothing else does.

/// The target of every input.
enum Chosen {
    static let name = ProcessInfo.processInfo.environment["COFFER_FUZZ_TARGET"] ?? ""
    static let target = FuzzTarget.all.first { $0.name == name }
    static let world = Result { try FuzzWorld() }
}

/// Runs one input; a finding ends the process so that libFuzzer keeps the input.
func runOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    do {
        try Chosen.target?.run(bytes, Chosen.world.get())
    } catch {
        fatalError("\(error)")
    }
    return 0
}

guard Chosen.target != nil else { fatalError("COFFER_FUZZ_TARGET names no target: \(Chosen.name)") }
var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv
exit(unsafe LLVMFuzzerRunDriver(&count, &arguments, runOne))
