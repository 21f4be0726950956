import Dispatch
import Foundation
import StrataTool

/// The program `strata`.
@main enum StrataProgram {
    static func main() async {
        let command = Task { await Tool.run(Array(CommandLine.arguments.dropFirst()), on: .standard) }
        // The command ends in order, so that SQLite removes the files that it has created. A second signal ends the
        // process at once.
        let signals = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
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
