import Foundation
import Synchronization

/// The signal that has asked the process to end.
final class ReceivedSignal: Sendable {
    private let number = Atomic<Int32>(SIGINT)

    func signal(_ number: Int32) { self.number.store(number, ordering: .relaxed) }

    /// The exit status of a process that this signal has ended.
    var status: Int32 { 128 + number.load(ordering: .relaxed) }
}
