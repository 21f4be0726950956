public import Foundation

extension Migration {
    /// Where a copy of a store goes before a migration that copies or drops tables, or runs steps.
    public struct Backup: Sendable {
        enum Place: Sendable {
            case beside
            case folder(URL)
            case none
        }

        let place: Place
        let kept: Int

        /// In the store's folder. `notes.sqlite` is kept as `notes.sqlite.before-migration-3` before its third migration.
        ///
        /// - Parameter count: how many are kept, the newest ones. At least 1.
        public static func beside(keeping count: Int) -> Backup { Backup(place: .beside, kept: max(1, count)) }

        /// In a folder, which must exist. Stores of one name need a folder each.
        ///
        /// - Parameter count: how many are kept, the newest ones. At least 1.
        public static func folder(_ url: URL, keeping count: Int) -> Backup {
            Backup(place: .folder(url), kept: max(1, count))
        }

        /// Nowhere. A migration that fails leaves the store as it was also without a backup.
        public static let none = Backup(place: .none, kept: 0)
    }
}
