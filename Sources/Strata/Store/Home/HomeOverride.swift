package import Foundation
import Synchronization

/// Gives homes to stores that are opened without one, so that the tests of stores also test stores with a home.
///
/// Only a fixture of the tests of this package sets it. It concerns stores in a file or in memory that are opened for
/// writing with all of their models. All other openings stay as they are.
///
/// Isolation: any.
package enum HomeOverride {
    /// In a struct, because a `Mutex` of a function wraps the function once more at each access.
    private struct Choice: Sendable {
        let home: @Sendable (URL) throws -> (any StoreHome)?
    }

    private static let choice = Mutex<Choice?>(nil)

    /// Sets the function that chooses the homes. The stacks opened from then on use it.
    ///
    /// - Parameter choose: receives the file of a store, which becomes the working copy. Returns a new connection to
    ///   the home of this file, or nil to open the file without a home. Each opening of one file must get the same
    ///   home.
    package static func set(_ choose: @escaping @Sendable (_ file: URL) throws -> (any StoreHome)?) {
        choice.withLock { $0 = Choice(home: choose) }
    }

    /// The home of a file; nil without one.
    static func home(of file: URL) throws -> (any StoreHome)? {
        try choice.withLock { $0 }?.home(file)
    }
}

extension StoreOpening {
    /// Opens a file that Strata owns, with its home if ``HomeOverride`` has one for it. Otherwise as
    /// ``open(_:_:isTemporary:)``.
    func openOwned(_ url: URL, _ configuration: StoreConfiguration, isTemporary: Bool = false) throws -> Opened {
        guard !schema.isPartial, let home = try HomeOverride.home(of: url) else {
            return try open(url, configuration, isTemporary: isTemporary)
        }
        do { return try open(home, copy: url, configuration) } catch {
            home.close()
            throw error
        }
    }
}
