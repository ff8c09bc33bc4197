import Glibc

/// Arguments in the form that `exec` takes, freed with their owner.
@safe final class ArgumentVector {
    let pointers: [UnsafeMutablePointer<CChar>?]

    init(_ arguments: [String]) { unsafe pointers = arguments.map { unsafe strdup($0) } + [nil] }

    deinit { unsafe pointers.forEach { unsafe free($0) } }
}
