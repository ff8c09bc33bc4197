import CofferBase
import CofferEngine
import Synchronization

/// A message bus of this process's own, in a directory that only this user can enter. The bus and the
/// directory are gone when the object is, and also when this process is killed.
final class PrivateBus: Sendable {
    /// The bus's address.
    let address: String
    private let process: BoundChildProcess

    private init(_ process: BoundChildProcess, _ address: String) {
        self.process = process
        self.address = address
    }

    deinit { Self.end(process) }

    /// The most bytes of the address that the bus prints.
    private static let maxAddressLength = 4096
    private static let deadline = Duration.seconds(10)

    /// The shell that starts the bus ignores the signals of a terminal, so that the command on the bus can
    /// still use it while it ends. The end of its standard input ends the bus.
    private static let script = """
        trap '' HUP INT QUIT TERM
        command -v dbus-daemon >/dev/null || exit 127
        umask 077
        dir=$(mktemp -d "${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}/coffer-bus.XXXXXXXX") || exit 1
        cat >"$dir/bus.conf" <<END
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=$dir/bus</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*"/>
            <allow receive_sender="*"/>
            <allow own="*"/>
          </policy>
          <limit name="max_message_size">35651584</limit>
        </busconfig>
        END
        dbus-daemon --nofork --nopidfile --config-file="$dir/bus.conf" --print-address=1 2>/dev/null &
        pid=$!
        exec >&-
        read -r _
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null
        rm -rf "$dir"
        """

    /// Starts a bus.
    ///
    /// - Throws: `unsupported` if the program dbus-daemon is not installed; `noSessionBus` if the bus does
    ///   not start.
    static func start() throws(CofferError) -> PrivateBus {
        let process = try BoundChildProcess.start(
            ["/bin/sh", "-c", script].map { Array($0.utf8) }, readsOutput: true)
        let watchdog = Watchdog(process, deadline)
        let line = try firstLine(of: process)
        watchdog.stop()
        guard let line, line.utf8.hasPrefix("unix:") else {
            end(process)
            throw process.ended() == 127 ? missing : notStarted
        }
        return PrivateBus(process, line)
    }

    private static let missing = CofferError(
        .unsupported, "A private message bus needs the program dbus-daemon, which is not installed.")
    private static let notStarted = CofferError(
        .noSessionBus,
        "The private message bus did not start. Check that the directory for temporary files is writable.")

    /// Returns the first line that the process prints; `nil` if it prints none.
    private static func firstLine(of process: BoundChildProcess) throws(CofferError) -> String? {
        var line: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 512)
        while line.count < maxAddressLength {
            var span = buffer.mutableSpan
            guard let count = try process.read(into: &span), count > 0 else { return nil }
            line += buffer[..<count]
            if let end = line.firstIndex(of: UInt8(ascii: "\n")) {
                return String(validating: line[..<end], as: UTF8.self)
            }
        }
        return nil
    }

    /// Ends the bus and waits until its directory is gone.
    private static func end(_ process: BoundChildProcess) {
        let watchdog = Watchdog(process, deadline)
        let newline: [UInt8] = [UInt8(ascii: "\n")]
        // A process that has ended reads nothing.
        _ = try? process.write(newline.span)
        process.ended()
        watchdog.stop()
    }

    /// A thread that kills a process that does not do in time what is expected of it.
    private final class Watchdog: Sendable {
        private let isStopped = Atomic(false)

        init(_ process: BoundChildProcess, _ deadline: Duration) {
            let end = Clock.sinceBoot + deadline
            BackgroundTask.repeating { [weak self, weak process] in
                guard let self, !isStopped.load(ordering: .relaxed), let process else { return nil }
                guard Clock.sinceBoot < end else {
                    process.end()
                    return nil
                }
                return .milliseconds(20)
            }
        }

        func stop() { isStopped.store(true, ordering: .relaxed) }
    }
}
