import ArgumentParser
import Foundation
import HistoryKit
import Strata

/// The program: imports new commits, then answers questions.
@main struct History: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Imports the history of a git repository into a store, and answers questions about it.",
        discussion: """
            The program imports only commits that are not in the store yet. If you stop it, the next run continues \
            the import.
            """
    )

    @OptionGroup var options: Options

    /// Exit status: 0 for success, 1 for an error, 64 for an invalid command line, 130 if stopped.
    func run() async throws {
        let isFinished: Bool
        do {
            isFinished = try await Self.run(options)
        } catch {
            Terminal.note("history: \(Self.explain(error))")
            throw ExitCode.failure
        }
        if !isFinished { throw ExitCode(130) }
    }

    /// - Returns: false if the user stopped the import.
    private static func run(_ options: Options) async throws -> Bool {
        let git = Git(folder: options.repository)
        // Asks git before it creates any file, so that a folder without a repository does not get a store.
        let identity = options.needsRepository ? try await git.identity() : nil
        let file = store(options, identity)
        if !options.imports, !FileManager.default.fileExists(atPath: file.path) {
            throw NoStore(path: file.path)
        }
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let stack = try await ContextStack.open(
            .sqlite(file),
            models: [Person.self, Commit.self, File.self, Change.self],
            stack: .rootOnly
        )
        do {
            if options.imports {
                guard try await importHistory(options, git, stack) else {
                    try await stack.close()
                    return false
                }
            }
            let answers = try await Questions(stack: stack, top: options.top).answer()
            try await stack.close()
            try Terminal.print(Report(answers: answers).lines(width: Terminal.width))
            return true
        } catch {
            try? await stack.close()
            throw error
        }
    }

    private static func store(_ options: Options, _ identity: String?) -> URL {
        if let store = options.store { return URL(fileURLWithPath: store) }
        switch options.input {
        case "-": return StorePlace.file(for: identity ?? "standard input")
        case .some(let input): return StorePlace.file(for: URL(fileURLWithPath: input).resolvingSymlinksInPath().path)
        case nil: return StorePlace.file(for: identity ?? options.repository)
        }
    }

    private static func importHistory(_ options: Options, _ git: Git, _ stack: ContextStack) async throws -> Bool {
        let log: GitLog
        var total: Int?
        if let input = options.input {
            log = .file(input, policy: options.malformed)
        } else {
            guard let plan = try await Plan.make(for: git, stack: stack, policy: options.malformed) else {
                Terminal.note("nothing new to import")
                return true
            }
            if let note = plan.note { Terminal.note(note) }
            log = plan.log
            total = plan.total
        }
        let stop = StopSignal.listen()
        defer { stop.end() }
        let summary = try await Importer(stack: stack, batchSize: options.batch)
            .run(log, total: total) { stop.isStopped }
        Terminal.note(
            "\(Numbers.counted(summary.imported, "commit")) imported"
                + (summary.known > 0 ? ", \(Numbers.grouped(summary.known)) there already" : "")
                + (summary.malformed > 0 ? ", \(Numbers.counted(summary.malformed, "malformed record")) skipped" : "")
        )
        if summary.isStopped { Terminal.note("stopped; the same command continues from here") }
        return !summary.isStopped
    }

    /// The error's message, with advice if the message alone is not enough.
    private static func explain(_ error: any Error) -> String {
        switch error {
        case let error as StrataError:
            switch error.code {
            case .busy, .notUnique, .conflict:
                return "\(error.message)\nIs another import into this store running? Wait for its end, and start again."
            case .notAStore, .schemaMismatch:
                return "\(error.message)\nThe file is not a store of this program. Name another file with --store."
            case .cannotOpen, .readOnly, .newerStore, .diskFull: return error.message
            default: return "\(error)"
            }
        case let record as MalformedRecord:
            return "\(record)\nEarlier records are imported. Use --malformed skip to leave such records out. To "
                + "create a log for --input, run: git \(GitLog.arguments.map { "'\($0)'" }.joined(separator: " "))"
        default: return "\(error)"
        }
    }
}

/// The store does not exist, because no history was imported into it.
private struct NoStore: Error, CustomStringConvertible {
    let path: String

    var description: String { "nothing was imported into \(path) yet; leave out --no-import" }
}
