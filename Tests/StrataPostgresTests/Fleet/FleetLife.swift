import Foundation
import StoreModels
import Testing

/// A process of a node of a fleet.
final class FleetLife: Sendable {
    /// The name of the process in its commits.
    let name: String
    private let process: HelperProcess
    private let reader: Task<Void, Never>
    private let watchdog: Task<Void, Never>

    /// - Parameters:
    ///   - seconds: the process is killed if it has not ended after this time.
    ///   - take: receives each line of the process.
    ///   - late: called before that kill.
    init(
        _ name: String,
        _ process: HelperProcess,
        limit seconds: Int,
        take: @escaping @Sendable (String) -> Void,
        late: @escaping @Sendable () -> Void
    ) {
        self.name = name
        self.process = process
        reader = Task { for await line in process.lines { take(line) } }
        watchdog = Task {
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
            late()
            process.kill()
        }
    }

    deinit {
        watchdog.cancel()
        process.kill()
    }

    var processID: Int32 { process.id }

    func kill() { process.kill() }

    /// Waits for the end of the process, which is known to come: each process has a limit of time.
    ///
    /// - Returns: the status with which it has exited; nil if a signal has ended it.
    @discardableResult
    func end() async -> Int32? {
        await process.wait()
        await reader.value
        watchdog.cancel()
        return process.exitStatus
    }
}

/// Waits until a condition holds.
///
/// - Throws: if it does not hold after a minute, or if the task is cancelled.
func waitUntil(_ title: String, _ condition: () throws -> Bool) async throws {
    for _ in 0..<6000 {
        if try condition() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw FleetFault(description: "\(title): not after a minute")
}
