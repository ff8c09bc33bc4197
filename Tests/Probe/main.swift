import Foundation

// A program for valgrind, one thing at a time: `Probe poison NAME` uses a secret that memcheck holds for
// undefined, `Probe count NAME TIMES` repeats a hot path for callgrind, `Probe list poison|count` names them.
// Its main is synchronous: valgrind does not survive a main thread that dispatch parks.

let arguments = Array(CommandLine.arguments.dropFirst())
do {
    switch (arguments.first, arguments.count) {
    case ("list", 2):
        let names = arguments[1] == "poison" ? Array(PoisonCases.all.keys) : Array(HotPaths.all.keys)
        print(names.sorted().joined(separator: "\n"))
    case ("poison", 2):
        guard let run = PoisonCases.all[arguments[1]] else { throw ProbeFailure("no such case") }
        guard Poison.isWatched else { throw ProbeFailure("not under valgrind, or built without its headers") }
        try run()
    case ("count", 3):
        guard let run = HotPaths.all[arguments[1]], let times = Int(arguments[2]), times > 0 else {
            throw ProbeFailure("no such path")
        }
        try run(times)
    default: throw ProbeFailure("poison NAME | count NAME TIMES | list poison|count")
    }
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(2)
}
