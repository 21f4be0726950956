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
    @OptionGroup var home: HomeOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        // Found before the command opens the file itself.
        let processes = StoreProcesses(of: file.store)
        var report = try await file.reading { stack in
            let time = Date()
            return StoreReport(
                file: file.store,
                record: try await stack.storeRecord(),
                statistics: try await stack.recordedStatistics(),
                rate: try await stack.commitRate(at: time),
                processes: processes,
                time: time
            )
        }
        // The copy was read before, so a copy whose program commits meanwhile does not seem to be ahead.
        report.comparison = try home.compare(report.record.home, of: file.store)
        if output.json { try console.print(report.json) } else { try console.print(report.lines) }
    }
}
