public import ArgumentParser

/// The options of the command line of `history`.
public struct Options: ParsableArguments, Sendable {
    @Argument(help: "A folder in the repository.")
    public var repository = "."

    @Option(
        help: ArgumentHelp("The file that stores the history. By default it is in your data folder.", valueName: "file")
    )
    public var store: String?

    @Option(
        help: ArgumentHelp(
            "A log file to read instead of running git. \"-\" reads standard input.",
            valueName: "file"
        )
    )
    public var input: String?

    @Option(help: "How to treat a record that cannot be read: skip it, or refuse the log.")
    public var malformed = MalformedPolicy.refuse

    @Option(help: ArgumentHelp("The number of commits per transaction.", valueName: "n"))
    public var batch = 500

    @Option(help: ArgumentHelp("The number of lines per table.", valueName: "n"))
    public var top = 10

    @Flag(help: "Answer the questions without importing new commits.")
    public var noImport = false

    public init() {}

    /// Whether new commits are imported before the questions are answered.
    public var imports: Bool { !noImport }

    /// Whether the command needs a repository, and not only a file.
    public var needsRepository: Bool { input == nil && (imports || store == nil) }

    public func validate() throws {
        guard !repository.isEmpty else { throw ValidationError("The repository's folder is empty.") }
        for (name, value) in [("--store", store), ("--input", input)] where value == "" {
            throw ValidationError("\(name) needs a value.")
        }
        for (name, number, limit) in [("--batch", batch, 100_000), ("--top", top, 1_000)] {
            guard (1...limit).contains(number) else {
                throw ValidationError("\(name) must be a number from 1 to \(Numbers.grouped(limit)), not \(number).")
            }
        }
    }
}

extension MalformedPolicy: ExpressibleByArgument {}
