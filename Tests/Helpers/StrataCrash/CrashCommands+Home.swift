import FileHome
import Foundation
import HomeSuite
import Strata

extension CrashCommands {
    /// Takes the lock of a home, acknowledges the id of a transaction, and publishes the transaction.
    ///
    /// - Parameter step: the process ends at this step. With nil, it keeps the lock until it is killed.
    static func publishInHome(_ path: String, endAt step: HomeFaults.Step?) throws {
        let home = FileHome(URL(fileURLWithPath: path))
        let position = try home.open(SampleStore.description, busyTimeout: 30).position
        _ = try home.lock(after: position, limit: 1)
        let transaction = HomeTransaction(
            previous: position,
            position: HomePosition(number: position.number + 1, id: UUID()),
            node: UUID(),
            time: Date(),
            changes: try SampleStore.insertion(position.number + 1)
        )
        acknowledge(transaction.position.id.uuidString)
        if let step { home.faults.endProcess(at: step) } else { while true { sleep(1) } }
        try home.publish(transaction)
    }

    /// Moves a store to a home.
    ///
    /// - Parameter step: the process ends at this step; nil for a move to its end.
    static func move(_ path: String, to home: String, endAt step: HomeFaults.Step?) throws {
        let home = FileHome(URL(fileURLWithPath: home))
        if let step { home.faults.endProcess(at: step) }
        let report = try HomeMove(of: URL(fileURLWithPath: path), to: home).run()
        acknowledge("\(report.rowCount)")
    }
}
