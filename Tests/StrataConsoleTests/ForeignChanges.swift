import Foundation
import GRDB

/// Another program that changes a store without Strata.
enum ForeignChanges {
    static func run(_ url: URL, _ statements: String...) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let queue = try DatabaseQueue(path: url.path, configuration: configuration)
        try queue.writeWithoutTransaction { db in for statement in statements { try db.execute(sql: statement) } }
        try queue.close()
    }
}
