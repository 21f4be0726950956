package import Foundation
import Synchronization

extension ContextStack {
    /// Writes a store without a home, with all commits that a home has now, from a working copy of this home.
    ///
    /// The working copy and the home stay as they are. Nodes may commit meanwhile; the file has their commits up to a
    /// moment of this call.
    ///
    /// - Isolation: callable from anywhere; a separate thread waits for the disk and the home. The stack has opened the
    ///   working copy to read only.
    /// - Parameters:
    ///   - home: the home of the working copy, which has a store. This call does not close it.
    ///   - url: the file to write, which does not exist.
    /// - Returns: the last transaction of the home that the file contains.
    /// - Throws: ``StrataError`` with `schemaMismatch` if the stack's file is not a working copy of this home;
    ///   `homeExpired`, `homeBehind` or `damagedStore` if the copy must be made again first; `unreachable`,
    ///   `cannotOpen`, `diskFull`; `CancellationError`. Then the file does not exist.
    /// - Complexity: O(pages of the file + rows of the missing commits).
    package func leave(_ home: any StoreHome, to url: URL) async throws -> HomePosition {
        let statements = core.engine.schema.commitHooks.flatMap { $0.type.copyStatements }
        return try await maintain { store, cancellation in
            let reached = ReachedPosition()
            let departure = HomeDeparture(home: home)
            try store.make(
                StoreCopy(
                    destination: url,
                    isReplacing: false,
                    statements: statements,
                    cancellation: cancellation,
                    progress: nil,
                    finish: { connection in
                        let position = try departure.finish(connection)
                        reached.position.withLock { $0 = position }
                    }
                )
            )
            return reached.position.withLock { $0 }
        }
    }
}

/// The position that a closure reports to the caller of the function that runs it.
private final class ReachedPosition: Sendable {
    let position = Mutex(HomePosition.start)
}
