import Foundation
import Logging
import ServiceLifecycle
import StoreModels
import Strata
import StrataPipeline

extension CrashCommands {
    /// Runs a pipeline as a service, with two operations at once, until SIGTERM. The first operation ends when a
    /// certain file exists beside the store. The others never end by themselves.
    static func serve(_ path: String) async throws {
        let stack = try await ContextStack.open(
            .sqlite(URL(fileURLWithPath: path)),
            models: [Mark.self] + Pipeline.models,
            stack: .rootOnly
        )
        let pipeline = try await Pipeline.open(
            stack,
            named: "chores",
            options: PipelineOptions(maxConcurrent: 2, maxCrashes: 1000, shutdownGrace: .seconds(2))
        ) { (attempt: Attempt<Chore>) in
            acknowledge("started \(attempt.payload.number)")
            guard attempt.payload.number == 0 else {
                try await Task.sleep(for: .seconds(60))
                return .fail("nobody has ended it")
            }
            while !FileManager.default.fileExists(atPath: path + ".go") { try await Task.sleep(for: .milliseconds(5)) }
            return .done { $0.insert(Mark(operation: 0, process: 0)) }
        }
        let group = ServiceGroup(
            services: [pipeline],
            gracefulShutdownSignals: [.sigterm],
            logger: Logger(label: "serve") { _ in SwiftLogNoOpLogHandler() }
        )
        try await group.run()
        try await stack.close()
        acknowledge("closed")
    }
}
