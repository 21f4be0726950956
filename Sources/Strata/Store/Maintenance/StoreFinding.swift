/// A fault that a check of a store has found.
public struct StoreFinding: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a fault. Later versions may add kinds, so keep a default case.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// Creates a kind from its name. Two kinds with the same name are equal.
        public init(_ description: String) { self.description = description }

        /// SQLite's own check has found damage in the file. Restore a backup.
        public static let damagedFile = Self("damagedFile")
        /// A relationship leads to an object that does not exist.
        public static let missingReference = Self("missingReference")
        /// A value that must be unique exists more than once.
        public static let duplicateValue = Self("duplicateValue")
        /// The bytes of an attribute that are stored outside of its row do not exist.
        public static let missingBytes = Self("missingBytes")
        /// The history cannot be read, or a row names a commit that the store does not have.
        public static let damagedHistory = Self("damagedHistory")
        /// Rows of an engine, such as the operations of a queue, contradict each other.
        public static let inconsistentQueue = Self("inconsistentQueue")
    }

    /// The kind of the fault, for code that decides by it.
    public let kind: Kind
    /// The name of the model or relationship; nil if the fault concerns the whole file.
    public let subject: String?
    /// The raw value of the object's id: ``ObjectID/rawValue``. Nil if the fault does not concern one row.
    public let id: Int64?
    /// The fault, in one sentence.
    public let message: String

    /// `missingReference: Article 42: author leads to Author 7, which does not exist.`
    public var description: String {
        let place = [subject, id.map { "\($0)" }].compactMap { $0 }.joined(separator: " ")
        return "\(kind): \(place.isEmpty ? "" : place + ": ")\(message)"
    }
}
