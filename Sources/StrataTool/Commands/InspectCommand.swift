import ArgumentParser
import Foundation
import Strata
import StrataInspection

/// `strata inspect`: the store as a whole.
struct InspectCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Shows the models, sizes, history and schema of a store, and the processes that have it open.",
        discussion: "Reads the whole file, to measure its tables."
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        // Found before the command opens the file itself.
        let processes = StoreProcesses(of: file.store)
        let report = try await file.reading { stack in
            StoreReport(
                file: file.store,
                record: try await stack.storeRecord(),
                statistics: try await stack.recordedStatistics(),
                processes: processes,
                time: Date()
            )
        }
        if output.json { try console.print(report.json) } else { try console.print(report.lines) }
    }
}
