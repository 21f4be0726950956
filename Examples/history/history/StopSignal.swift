import Dispatch
import Foundation
import HistoryKit
import Synchronization

/// Turns SIGINT and SIGTERM into a request to stop after the current batch. A second signal ends the program at once.
struct StopSignal {
    private final class Wish: Sendable {
        let isMade = Atomic(false)
    }

    private let wish: Wish
    private let sources: [any DispatchSourceSignal]

    /// Handles the signals until ``end()``.
    static func listen() -> StopSignal {
        let wish = Wish()
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                // All stored batches are complete, so an exit at this point loses no data.
                if wish.isMade.exchange(true, ordering: .relaxed) { exit(128 + number) }
                Terminal.note("\nstopping after this batch; press ^C again to stop immediately")
            }
            source.activate()
            return source
        }
        return StopSignal(wish: wish, sources: sources)
    }

    var isStopped: Bool { wish.isMade.load(ordering: .relaxed) }

    /// Restores the default: from now on, the signals end the program.
    func end() {
        for source in sources { source.cancel() }
        for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
    }
}
