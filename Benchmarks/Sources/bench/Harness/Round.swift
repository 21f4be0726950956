import Foundation

/// What a side is given: a fresh folder, the sizes and the values to work on.
struct Round: Sendable {
    let folder: URL
    let sizes: Sizes
    let values: Values

    /// A file in the folder of this round, which does not exist at first.
    var file: URL { folder.appending(path: "bench.sqlite") }
}

/// How much work each row does.
struct Sizes: Sendable {
    /// "full" or "quick".
    var name = "full"
    var rounds = 8
    var inserted = 100_000
    var fetched = 200_000
    var pages = 200
    /// Rows in the table from which single rows are read, updated or deleted.
    var stored = 100_000
    /// How many of these are.
    var chosen = 20_000
    var registered = 20_000
    var lookupPasses = 10
    var commits = 2_000
    /// Objects that are read, changed and committed, each by itself.
    var edits = 4_000
    /// Rows on each of the two levels that one delete removes.
    var cascaded = 100_000
    var hops = 5_000
    var parents = 10_000
    var children = 100_000
    var searches = 200
    var streamed = 1_000_000
    /// Rows of a live list, and how often one of them is changed.
    var shown = 10_000
    var liveChanges = 50
    var pendingStored = 20_000
    var pendingQueries = 20
    var openings = 20
    var migrated = 1_000_000
    /// Operations that are queued in large commits, or done.
    var worked = 20_000
    /// Operations that are queued already.
    var backlog = 1_000_000
    /// Uploads that are queued one a commit.
    var cloudQueued = 1_000
    var nodes = 100_000
    var files = 2_000
    /// Files that are sent to a server.
    var requests = 1_000
    /// In bytes.
    var large = 256 << 20
    var sealed = 64 << 20
    var gitCommits = 20_000
    var gitChanges = 100_000

    static let full = Sizes()

    /// Proves that everything works; the figures mean little.
    static let quick = Sizes(
        name: "quick",
        rounds: 1,
        inserted: 5_000,
        fetched: 10_000,
        pages: 20,
        stored: 10_000,
        chosen: 2_000,
        registered: 2_000,
        lookupPasses: 2,
        commits: 50,
        edits: 50,
        cascaded: 1_000,
        hops: 500,
        parents: 500,
        children: 5_000,
        searches: 20,
        streamed: 20_000,
        shown: 1_000,
        liveChanges: 5,
        pendingStored: 5_000,
        pendingQueries: 3,
        openings: 3,
        migrated: 50_000,
        worked: 500,
        backlog: 2_000,
        cloudQueued: 100,
        nodes: 2_000,
        files: 50,
        requests: 50,
        large: 32 << 20,
        sealed: 1 << 20,
        gitCommits: 1_000,
        gitChanges: 5_000
    )

    /// Every so manieth stored row is chosen, so that the chosen ones spread over the table.
    var stride: Int { stored / chosen }
}

/// Times in seconds.
struct Stopwatch {
    private let start = ContinuousClock.now

    var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }
}

/// Unequal work, or a side that could not do it.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
