import Foundation
import StoreModels
import Strata

extension CrashCommands {
    /// Copies the bank to `<path>.copy` until it is killed. Acknowledges each portion and each complete copy.
    static func backup(_ path: String) async throws {
        let stack = try await openAmongOthers(path)
        let copy = URL(fileURLWithPath: path + ".copy")
        while true {
            try await stack.backup(to: copy, replacing: true) { acknowledge("\($0.completedPages)") }
            acknowledge("done")
        }
    }
}
