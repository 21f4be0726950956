import Dispatch
import Foundation
import StrataTool

/// The program `strata`.
@main enum StrataProgram {
    static func main() async {
        // A file of the store would otherwise get the number of a closed stream, and with it the output.
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // The file is opened to read only, so that writing fails.
            _ = open("/dev/null", O_RDONLY)
        }
        // A closed pipe is an error of the command, which then closes the store.
        _ = signal(SIGPIPE, SIG_IGN)
        let command = Task { await Tool.run(Array(CommandLine.arguments.dropFirst()), on: .standard) }
        // The command ends in order, so that SQLite removes the files that it has created. A second signal ends the
        // process at once.
        let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].compactMap { number -> (any DispatchSourceSignal)? in
            let former = signal(number, SIG_IGN)
            // `nohup` ignores SIGHUP, and the command must survive its terminal then. A shell without job control
            // ignores SIGQUIT for commands in the background.
            if number == SIGHUP || number == SIGQUIT,
                unsafeBitCast(former, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
            {
                return nil
            }
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            // Sendable, so that it is not isolated to the main actor, on which this function runs.
            source.setEventHandler { @Sendable in
                if command.isCancelled {
                    Tool.restoreTerminal()
                    exit(128 + number)
                }
                received.signal(number)
                command.cancel()
            }
            source.activate()
            return source
        }
        let status = await command.value
        withExtendedLifetime(signals) {}
        exit(status == Tool.interrupted ? received.status : status)
    }

    private static let received = ReceivedSignal()
}
