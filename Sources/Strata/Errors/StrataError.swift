/// What went wrong, and what to do about it.
///
/// All of Strata's functions throw this and nothing else, except that errors thrown by your own blocks pass through
/// as they are. It carries ids and values, never objects.
public struct StrataError: Error, Sendable {
    /// The kind of an error. Further codes may come with further versions, so keep a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// A code by its name; two of one name are equal.
        public init(_ description: String) { self.description = description }
    }

    /// The kind of error, for code that decides by it.
    public let code: Code
    /// One or two sentences: what happened, and what to do.
    public let message: String
    /// The objects and columns concerned, as far as there are any.
    public var details: [Detail]
    /// The error of the layer below, if one caused this.
    public var underlying: (any Error)?
    /// The extended result code of SQLite's, where it reported this.
    var resultCode: Int32?
    /// Where in Strata it was thrown, for reports.
    public let file: String
    /// The line of that file.
    public let line: Int

    /// An error that says where it was made.
    public init(
        _ code: Code,
        _ message: String,
        details: [Detail] = [],
        underlying: (any Error)? = nil,
        file: String = #fileID,
        line: Int = #line
    ) {
        self.code = code
        self.message = message
        self.details = details
        self.underlying = underlying
        self.file = file
        self.line = line
    }
}

extension StrataError {
    /// One object, and if it is about one of its columns that column, with what stood against what.
    public struct Detail: Sendable, CustomStringConvertible {
        /// The name of the model.
        public let model: String
        /// The number of the object's id; see ``ObjectID/number``.
        public let number: Int64
        /// The name of the column; nil where it is about the object.
        public let column: String?
        /// What the column or object must satisfy, or how it conflicts.
        public let message: String
        /// The value from which the change set out; nil where there was none.
        public var base: StoredValue?
        /// The value that was to be saved; nil where there was none.
        public var mine: StoredValue?
        /// The value that somebody else had saved before; nil where there was none.
        public var theirs: StoredValue?

        /// A detail about an object or, with `column`, about one of its columns.
        public init(
            model: String,
            number: Int64,
            column: String? = nil,
            message: String,
            base: StoredValue? = nil,
            mine: StoredValue? = nil,
            theirs: StoredValue? = nil
        ) {
            self.model = model
            self.number = number
            self.column = column
            self.message = message
            self.base = base
            self.mine = mine
            self.theirs = theirs
        }

        /// `Article 42.title must not be empty`, and for a conflict what stood against what:
        /// `Article 42.views was changed here and elsewhere (base 0, mine 1, theirs 2)`.
        public var description: String {
            let text = "\(model) \(number)\(column.map { "." + $0 } ?? "") \(message)"
            guard base != nil || theirs != nil else { return text }
            let values = [("base", base), ("mine", mine), ("theirs", theirs)].compactMap { name, value in
                value.map { "\(name) \($0)" }
            }
            return text + " (\(values.joined(separator: ", ")))"
        }
    }
}

extension StrataError.Code {
    // Set-up and stores
    /// The models contradict each other or themselves.
    public static let invalidSchema = Self("invalidSchema")
    /// The store's tables differ from the models.
    public static let schemaMismatch = Self("schemaMismatch")
    /// The file is no store of Strata's, or none at all.
    public static let notAStore = Self("notAStore")
    /// The store was written by a newer version.
    public static let newerStore = Self("newerStore")
    /// The file is damaged.
    public static let damagedStore = Self("damagedStore")
    /// The file or its folder cannot be written.
    public static let readOnly = Self("readOnly")
    /// The path does not lead to a file that can be opened.
    public static let cannotOpen = Self("cannotOpen")
    /// Another process holds the store.
    public static let busy = Self("busy")
    /// The disk is full.
    public static let diskFull = Self("diskFull")
    /// SQLite reported something else.
    public static let database = Self("database")

    // Contexts and blocks
    /// No context of the stack has this name.
    public static let unknownName = Self("unknownName")
    /// The name is taken; a second root or main context is refused with this code too.
    public static let nameTaken = Self("nameTaken")
    /// The name and the kind do not fit: `.root` and `.main` belong to the contexts of these kinds.
    public static let invalidName = Self("invalidName")
    /// The call needs a current context, or a main one, and there is none.
    public static let noContext = Self("noContext")
    /// The handle belongs to another stack.
    public static let foreignContext = Self("foreignContext")
    /// The context was dropped by `reset()`, by the end of its background block, or with its last handle.
    public static let contextEnded = Self("contextEnded")
    /// The stack is closed or closing.
    public static let closed = Self("closed")
    /// A task that escaped from a block used the stack of that block after the block had ended.
    public static let blockEnded = Self("blockEnded")
    /// `close()` or `reset()` was called inside a block of the same stack.
    public static let insideBlock = Self("insideBlock")
    /// Waiting would never end: contexts wait for each other, or a child task waits for the block that awaits it.
    public static let waitingRing = Self("waitingRing")
    /// The call is not possible in the state that the context or object is in, such as a save inside a save.
    public static let misuse = Self("misuse")

    // Objects and saving
    /// Somebody else changed the same columns in the meantime.
    public static let conflict = Self("conflict")
    /// Values break what the model declares.
    public static let validation = Self("validation")
    /// Two objects have the same value where only one may.
    public static let notUnique = Self("notUnique")
    /// A delete rule forbids the delete.
    public static let deleteDenied = Self("deleteDenied")
    /// A relationship leads to an object that is not there.
    public static let missingReference = Self("missingReference")
    /// The id belongs to another store.
    public static let foreignID = Self("foreignID")
    /// The history does not reach back to the token, or the token is another store's.
    public static let expiredToken = Self("expiredToken")
    /// A model that the stack was not opened with.
    public static let unknownModel = Self("unknownModel")
    /// A value in the store is none of its attribute's type.
    public static let undecodable = Self("undecodable")
    /// A line of an import says something that the store cannot take over.
    public static let invalidImport = Self("invalidImport")
    /// A query that cannot be answered.
    public static let invalidQuery = Self("invalidQuery")
}

extension StrataError: CustomStringConvertible {
    /// The message, then a line for each of the first ten objects or columns concerned, and the number of the others, which
    /// ``details`` has.
    public var description: String {
        var text = "\(code): \(message)"
        for detail in details.prefix(Self.describedDetails) { text += "\n  - \(detail)" }
        let others = details.count - Self.describedDetails
        if others > 0 { text += "\n  - and \(others) more" }
        if let underlying { text += "\n  caused by: \(underlying)" }
        return text
    }

    private static var describedDetails: Int { 10 }
}
