import ArgumentParser
import Strata
import StrataCloud
import StrataPipeline

/// `strata tree`: the tree of an account.
struct TreeCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "tree",
        abstract: "Shows the tree of an account, and the work that is left for each node.",
        discussion: """
            Shows the size and version of the content at the remote as the store knows them, the sections that are \
            marked for download, the number of queued operations by status, and conflicts. '…' after a folder stands \
            for nodes below the greatest depth. The remote is not asked.
            """
    )

    @OptionGroup var file: StoreArgument

    @Argument(help: "The node to begin with, such as /letters or inbox:/.")
    var path = "/"

    @Option(help: "The id of the account. It may be left out if the store has only one.")
    var account: String?

    @Option(help: "The greatest number of folders from the first node to a printed one.")
    var depth = 3

    @Option(help: "The greatest number of nodes.")
    var limit = 1000

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if depth < 0 { throw ValidationError("--depth must not be negative.") }
        try ListOptions.check(limit)
    }

    func run(on console: Console) async throws {
        let start = try TreePath(parsing: path)
        let (store, account, depth, limit) = (file.store, account, depth, limit)
        let listing = try await file.readingAccounts { stack in
            try await stack.background { context in
                let cloud = try StoreArgument.cloud(account, of: store, in: context)
                return try cloud.listing(from: cloud.node(at: start), depth: depth, limit: limit)
            }
        }
        if output.json {
            for entry in listing.entries { try console.print(entry.json) }
        } else {
            try console.print(listing.table.lines)
        }
        if !listing.isComplete {
            console.note("Only the first \(limit) nodes are shown. Name a folder, or pass a greater --limit.")
        }
    }
}

extension TreeListing {
    fileprivate var table: TextTable {
        var table = TextTable(["node", "bytes", "version", "marked", "queued", "conflict"])
        for entry in entries {
            let queued = entry.operations.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($1) \($0)" }
            table.add([
                .text(entry.label), .number(entry.size), .text(entry.eTag ?? "-"),
                .text(entry.marked.description), .text(queued.joined(separator: ", ")),
                .text(entry.conflict?.description ?? ""),
            ])
        }
        return table
    }
}

extension TreeListing.Entry {
    /// The name of the node, indented below its folder. The first node has its whole path.
    fileprivate var label: String {
        let name = depth == 0 ? path.description : RemoteKey.escape(path.name ?? "")
        let slash = isFolder && !name.hasByteSuffix("/") ? "/" : ""
        return String(repeating: "  ", count: depth) + name + slash + (hasMore ? "…" : "")
    }

    fileprivate var json: JSON {
        let counts = operations.sorted { $0.key.rawValue < $1.key.rawValue }.map { status, count in
            (name: status.description, value: JSON.count(count))
        }
        return .object([
            ("path", .text(path.description)),
            ("id", .integer(id)),
            ("isFolder", .bool(isFolder)),
            ("hasMore", .bool(hasMore)),
            ("isAtRemote", .bool(isAtRemote)),
            ("size", .orNull(size)),
            ("eTag", .orNull(eTag)),
            ("modifiedAt", .time(modifiedAt)),
            ("marked", .sections(marked)),
            ("operations", .object(counts)),
            ("conflict", conflict.map { JSON.sections($0) } ?? JSON.null),
        ])
    }
}
