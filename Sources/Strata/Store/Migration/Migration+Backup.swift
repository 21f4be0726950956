public import Foundation

extension Migration {
    /// The location of the backup that is made before a migration copies or drops tables, or runs steps.
    public struct Backup: Sendable {
        enum Place: Sendable {
            case beside
            case folder(URL)
            case none
        }

        let place: Place
        let kept: Int

        /// Backs up to the store's folder. The backup of `notes.sqlite` before its third migration is
        /// `notes.sqlite.before-migration-3`.
        ///
        /// - Parameter count: the number of backups to keep, the newest ones. At least 1.
        public static func beside(keeping count: Int) -> Backup { Backup(place: .beside, kept: count) }

        /// Backs up to a folder, which must exist. Stores with the same name need separate folders.
        ///
        /// - Parameters:
        ///   - url: the folder.
        ///   - count: the number of backups to keep, the newest ones. At least 1.
        public static func folder(_ url: URL, keeping count: Int) -> Backup {
            Backup(place: .folder(url), kept: count)
        }

        /// Makes no backup. Even without a backup, a failed migration leaves the store unchanged.
        public static let none = Backup(place: .none, kept: 0)

        /// - Throws: ``StrataError`` with `invalidArgument` for a number of backups below one.
        func check() throws {
            if case .none = place { return }
            try StrataError.require(
                kept >= 1,
                "A migration cannot keep \(kept) backups. Keep 1 or more, or make none: `.backup(.none)`."
            )
        }
    }
}
