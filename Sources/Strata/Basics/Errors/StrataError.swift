/// An error with a description of the failure and advice on what to do.
///
/// All functions of Strata throw only this error. The exception is an error that your own block throws, which passes
/// through unchanged. A `StrataError` contains ids and values, never objects.
public struct StrataError: Error, Sendable, CustomStringConvertible, ProductError {
    /// The kind of an error. Later versions may add codes, so keep a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// Creates a code from its name. Two codes with the same name are equal.
        public init(_ description: String) { self.description = description }
    }

    /// The kind of the error, for code that decides by it.
    public let code: Code
    /// One or two sentences: what happened, and what to do.
    public let message: String
    /// The affected objects and columns, if there are any.
    public internal(set) var details: [Detail]
    /// The error that caused this error, if there is one.
    public internal(set) var underlying: (any Error)?
    /// The extended result code, if SQLite reported this error.
    var resultCode: Int32?
    /// Which one of several failures with this code has happened, if a caller needs to know.
    package internal(set) var reason: Reason?
    /// The source file that created the error, for reports.
    public let file: String
    /// The line of that file.
    public let line: Int

    /// Creates an error that records its source location.
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

    /// The code and the message, then one line for each of the first ten affected objects or columns, the number of
    /// the remaining ones, and the cause. ``details`` contains all of them.
    public var description: String { fullText }
}

extension StrataError {
    /// A failure whose message gives advice for programs. The command-line tool replaces the advice.
    package enum Reason: Sendable, Hashable {
        /// A store that is only read has a journal, and the index of the journal is missing.
        case missingJournalIndex
        /// A store that is only read has no journal, and the journal may not be created.
        case missingJournal
        /// A store that is only read has a transaction that SQLite must take back.
        case unfinishedTransaction
        /// The file is a database of another program.
        case otherProgram
        /// The file is a working copy, which only programs with its home may change.
        case workingCopy
        /// The SQL of a query would write.
        case writingSQL
        /// The SQL of a query contains parameters without values.
        case missingParameters
        /// A file that would be replaced exists.
        case fileExists
        /// A store does not have current declarations of its models.
        case missingDeclarations
        /// A line is of a model for which an import needs code of the program.
        case programCode
    }

    /// The same error, with the reason for callers that give other advice.
    func because(_ reason: Reason) -> StrataError {
        var error = self
        error.reason = reason
        return error
    }

    /// Checks a value that the program has given.
    ///
    /// - Throws: `invalidArgument`.
    static func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        if !condition { throw StrataError(.invalidArgument, message()) }
    }
}

extension StrataError {
    /// An affected object or column. For a conflict, it also contains the conflicting values.
    public struct Detail: Sendable, CustomStringConvertible {
        /// The name of the model.
        public let model: String
        /// The raw value of the object's id: ``ObjectID/rawValue``.
        public let id: Int64
        /// The name of the column; nil if the detail concerns the whole object.
        public let column: String?
        /// The condition that the column or object must satisfy, or the kind of its conflict.
        public let message: String
        /// The value that the change started from (the common ancestor); nil if it does not exist.
        public var base: StoredValue?
        /// The value that the save tried to write; nil if it does not exist.
        public var mine: StoredValue?
        /// The value that another writer had already saved; nil if it does not exist.
        public var theirs: StoredValue?

        /// A detail about an object or, with `column`, about one of its columns.
        public init(
            model: String,
            id: Int64,
            column: String? = nil,
            message: String,
            base: StoredValue? = nil,
            mine: StoredValue? = nil,
            theirs: StoredValue? = nil
        ) {
            self.model = model
            self.id = id
            self.column = column
            self.message = message
            self.base = base
            self.mine = mine
            self.theirs = theirs
        }

        /// `Article 42.title must not be empty`. For a conflict, the description includes the conflicting values:
        /// `Article 42.views was changed here and elsewhere (base 0, mine 1, theirs 2)`.
        public var description: String {
            let text = "\(model) \(id)\(column.map { "." + $0 } ?? "") \(message)"
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
    /// A setting has a value that is out of its bounds, or that does not fit the model.
    public static let invalidArgument = Self("invalidArgument")
    /// The models contradict each other or themselves.
    public static let invalidSchema = Self("invalidSchema")
    /// The store's tables differ from the models.
    public static let schemaMismatch = Self("schemaMismatch")
    /// The file is not a Strata store, or not a database at all.
    public static let notAStore = Self("notAStore")
    /// The store was written by a newer version.
    public static let newerStore = Self("newerStore")
    /// The file is damaged.
    public static let damagedStore = Self("damagedStore")
    /// The file or its folder is not writable, or the stack was opened to read only.
    public static let readOnly = Self("readOnly")
    /// The path does not lead to a file that can be opened.
    public static let cannotOpen = Self("cannotOpen")
    /// Another process holds the store.
    public static let busy = Self("busy")
    /// The disk is full.
    public static let diskFull = Self("diskFull")
    /// SQLite reported another error.
    public static let database = Self("database")

    // Stores with a home
    /// The home of the store does not answer. Nothing was written.
    public static let unreachable = Self("unreachable")
    /// The connection to the home was lost while a commit was stored. The commit may be stored or not. If it is, it
    /// appears in the store when the home answers again.
    public static let uncertain = Self("uncertain")
    /// The home has lost commits that this node has seen: an earlier state was restored, or a standby took over that did
    /// not have them.
    public static let homeBehind = Self("homeBehind")
    /// The home does not keep the commits any more that the working copy lacks. The copy must be made again.
    public static let homeExpired = Self("homeExpired")
    /// The role of the connection to the home lacks a right. Nothing was written.
    public static let notPermitted = Self("notPermitted")

    // Contexts and blocks
    /// No context of the stack has this name.
    public static let unknownName = Self("unknownName")
    /// Another context of the stack has this name; also thrown for a second root or main context.
    public static let nameTaken = Self("nameTaken")
    /// The name and the kind do not match: `.root` and `.main` are reserved for the contexts of these kinds.
    public static let invalidName = Self("invalidName")
    /// The call needs a current context or a main context, and the stack does not have one.
    public static let contextNotFound = Self("contextNotFound")
    /// The handle belongs to another stack.
    public static let contextOfOtherStack = Self("contextOfOtherStack")
    /// The context was dropped by `reset()`, by the end of its background block, or with its last handle.
    public static let contextInvalidated = Self("contextInvalidated")
    /// The stack is closed or closing.
    public static let closed = Self("closed")
    /// A task that has outlived a block used the stack of the ended block.
    public static let blockFinished = Self("blockFinished")
    /// `close()` or `reset()`, or a wait for the result of an operation, was called inside a block of the same stack.
    public static let insideBlock = Self("insideBlock")
    /// The wait would deadlock: contexts wait for each other, or a child task waits for the block that awaits it.
    public static let deadlock = Self("deadlock")
    /// The call is not possible in the current state of the context or object, such as a save inside a save.
    public static let invalidState = Self("invalidState")

    // Objects and saving
    /// Another writer changed the same columns in the meantime.
    public static let conflict = Self("conflict")
    /// Values violate rules that the model declares.
    public static let validation = Self("validation")
    /// Two objects have the same value in a unique column, or in columns that are unique together.
    public static let notUnique = Self("notUnique")
    /// A delete rule forbids the delete.
    public static let deleteDenied = Self("deleteDenied")
    /// A relationship refers to an object that does not exist.
    public static let missingReference = Self("missingReference")
    /// The id belongs to another store.
    public static let idOfOtherStore = Self("idOfOtherStore")
    /// The history does not reach back to the token, or the token belongs to another store.
    public static let expiredToken = Self("expiredToken")
    /// The stack was opened without this model.
    public static let unknownModel = Self("unknownModel")
    /// The change would concern objects of models that the stack does not open:
    /// ``StoreConfiguration/allowsUnopenedModels``.
    public static let unopenedModel = Self("unopenedModel")
    /// A value in the store is not valid for its attribute's type.
    public static let undecodable = Self("undecodable")
    /// A line of an import contains data that the store cannot accept.
    public static let invalidImport = Self("invalidImport")
    /// The query cannot be answered.
    public static let invalidQuery = Self("invalidQuery")
    /// The page token belongs to another query, or is damaged.
    public static let invalidToken = Self("invalidToken")
}
