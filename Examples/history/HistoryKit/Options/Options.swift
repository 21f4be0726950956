import ExampleArguments

/// The options of the command line.
public struct Options: Sendable, Equatable {
    public var repository = "."
    /// The store's file. Nil for the default file of the repository.
    public var store: String?
    public var malformed = MalformedPolicy.refuse
    /// The number of commits per transaction.
    public var batch = 500
    /// A log file to read instead of running git; "-" for standard input.
    public var input: String?
    /// The number of lines per table.
    public var top = 10
    public var imports = true
    public var help = false

    public init() {}

    /// Whether the command needs a repository, and not only a file.
    public var needsRepository: Bool { input == nil && (imports || store == nil) }

    public static let usage = """
        usage: history [REPOSITORY] [options]

        Imports the new commits of a git repository into a store, and answers questions about its history. An
        interrupted import continues the next time.

          REPOSITORY            a folder in the repository (default: the current one)
          --store FILE          the file of the store (default: in the user's data folder)
          --input FILE          read the log from a file, or from standard input if it is "-"
          --malformed skip|refuse
                                skip records that cannot be read, or stop at the first (default: refuse)
          --batch N             commits per transaction (default: 500)
          --top N               lines per table (default: 10)
          --no-import           answer without an import
          --help                show this help
        """

    /// Parses the arguments, without the program's name. `--store=FILE` is the same as `--store FILE`.
    ///
    /// - Throws: ``UsageError``.
    public init(arguments: [String]) throws {
        var rest = arguments[...]
        var folders: [String] = []
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-"), argument != "-" else {
                folders.append(argument)
                continue
            }
            if argument == "--" {
                folders += rest
                break
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = parts[0]
            func value() throws -> String {
                guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
                    throw UsageError("\(name) needs a value")
                }
                return value
            }
            switch name {
            case "--store": store = try value()
            case "--input": input = try value()
            case "--batch": batch = try Self.number(value(), name, upTo: 100_000)
            case "--top": top = try Self.number(value(), name, upTo: 1_000)
            case "--malformed":
                guard let policy = MalformedPolicy(rawValue: try value()) else {
                    throw UsageError("--malformed is either skip or refuse")
                }
                malformed = policy
            case "--no-import" where parts.count == 1: imports = false
            case "--help" where parts.count == 1, "-h" where parts.count == 1: help = true
            default: throw UsageError("unknown option \(argument)")
            }
        }
        if folders.count > 1 { throw UsageError("pass one repository, not \(folders.count)") }
        repository = folders.first ?? repository
        if repository.isEmpty { throw UsageError("the path of the repository is empty") }
    }

    private static func number(_ text: String, _ name: String, upTo limit: Int) throws -> Int {
        guard let number = Int(text), (1...limit).contains(number) else {
            throw UsageError("\(name) must be a number from 1 to \(Numbers.grouped(limit)), not \"\(text)\"")
        }
        return number
    }
}
