package import CofferBase
import CPKCS11
import Glibc
import Synchronization

/// A server for a module of PKCS #11, by p11-kit: it reads calls from one descriptor and writes the answers
/// to another.
package enum ModuleServer {
    /// The module that is served, and whether the client has initialized it.
    struct Service {
        let module: any TokenModule
        var isInitialized = false
    }

    /// The functions that p11-kit calls have no place for the module.
    static let served = Mutex<Service?>(nil)

    /// The library that the client uses, too, if p11-kit started this process.
    private static let library = "libp11-kit.so.0"

    /// Serves a module on standard input and output, until the client ends or breaks the protocol. Blocks
    /// the calling thread.
    ///
    /// - Parameter module: The module.
    /// - Throws: `unsupported` if p11-kit is not installed; `inputOutput` if the client broke the protocol.
    package static func serve(_ module: any TokenModule) throws(CofferError) {
        let serve = unsafe try server()
        served.withLock { $0 = Service(module: module) }
        defer { served.withLock { $0 = nil } }
        var list = coffer_function_list()
        ModuleTable.fill(&list)
        guard unsafe serve(&list, 0, 1) == 0 else {
            throw CofferError(.inputOutput, "The program that uses the keys broke off.")
        }
    }

    /// Returns p11-kit's function. It is never unloaded.
    private static func server() throws(CofferError) -> coffer_serve_module {
        guard let handle = unsafe dlopen(library, RTLD_NOW | RTLD_LOCAL),
            let symbol = unsafe dlsym(handle, "p11_kit_remote_serve_module")
        else {
            throw CofferError(
                .unsupported,
                "The library \(library) of p11-kit is not installed, or too old. On Debian, it is in the "
                    + "package libp11-kit0.")
        }
        return unsafe unsafeBitCast(symbol, to: coffer_serve_module.self)
    }
}
