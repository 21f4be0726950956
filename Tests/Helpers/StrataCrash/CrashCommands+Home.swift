import FileHome
import Foundation
import HomeSuite
import StoreModels
import Strata
import StrataPostgres

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

    /// Opens a node of ``Warehouse/Third``, which migrates the home, and closes it.
    ///
    /// - Parameters:
    ///   - home: the path of a home in a file, or the connection string and the store of one in PostgreSQL.
    ///   - step: the process ends at this step.
    static func migrateHome(_ copy: String, _ home: [String], endAt step: String) async throws {
        let stack = try await ContextStack.open(
            .shared(try connect(home, copy, endAt: step), copy: copy),
            models: Warehouse.Third.models,
            stack: .rootOnly,
            migration: Warehouse.Third.migration
        )
        try await stack.close()
        acknowledge("done")
    }

    private static func connect(_ home: [String], _ copy: String, endAt step: String) throws -> any StoreHome {
        guard home.count > 1 else {
            let file = FileHome(URL(fileURLWithPath: home[0]))
            if let step = HomeFaults.Step(rawValue: step) { file.faults.endProcess(at: step) }
            return file
        }
        var settings = FleetNodeSettings(
            mode: .work,
            connection: home[0],
            store: home[1],
            copy: copy,
            stopFile: "",
            life: "migration"
        )
        settings.killAt = FleetNodeSettings.Step(kind: step, number: 1)
        return SteppedHome(try PostgresHome(home[0], store: home[1]), settings)
    }
}
