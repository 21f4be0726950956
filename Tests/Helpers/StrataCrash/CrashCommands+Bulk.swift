import CKillSwitch
import Foundation
import Strata
import StrataPipeline

extension CrashCommands {
    /// Retries all failed operations with the tag `import`, in one bulk action. Reports their number.
    ///
    /// - Parameter call: the process is killed right before this call, counted among the system calls by which SQLite
    ///   changes files. With 0 it is never killed.
    static func bulk(_ path: String, killBefore call: Int) async throws {
        let stack = try await ContextStack.open(.sqlite(path: path), models: Pipeline.models, stack: .rootOnly)
        guard kill_before_call(call) != 0 else {
            throw StrataError(.invalidState, "SQLite's calls cannot be counted here.")
        }
        let count = try await stack.background { context in
            try context.retryOperations(QueuedOperation.where { $0.hasTag("import") })
        }
        acknowledge("retried \(count)")
        try await stack.close()
        acknowledge("done \(kill_switch_calls())")
    }
}
