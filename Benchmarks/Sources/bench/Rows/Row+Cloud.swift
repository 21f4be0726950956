import Crypto
import Foundation

extension Row {
    /// Uploads queued one a commit, while so many are queued already: each finds out what it has to come behind.
    ///
    /// The reference is Strata itself, with a backlog of a thousand: what else is queued is to cost nothing.
    static func cloudDependencies(_ sizes: Sizes) -> Row {
        Row(
            work: .cloudDependencies,
            name: "queue an upload behind \(sizes.backlog) (reference: behind \(sizes.cloudQueued))",
            unit: .microseconds,
            target: 1.2,
            operations: sizes.cloudQueued
        ) { try await StrataSides.cloudDependencies($0, backlog: sizes.cloudQueued) }
    }

    /// The paths of everything below a folder, folders before what lies in them, in the order of names.
    ///
    /// Equal: the same store, one read transaction or block. The reference is one recursive query, which reads names alone; Strata makes
    /// an object of each node, and asks for each folder by itself.
    static func cloudWalk(_ sizes: Sizes) -> Row {
        Row(
            work: .cloudWalk,
            name: "walk a tree of \(sizes.nodes) nodes",
            unit: .milliseconds,
            target: nil
        ) { round in
            let top = try await StrataSides.makeTree(round)
            let database = try Database(round.file)
            let watch = Stopwatch()
            let statement = try database.prepare(
                """
                WITH RECURSIVE tree(id, path) AS (SELECT id, name FROM CloudNode WHERE parent = ?1 UNION ALL \
                SELECT c.id, tree.path || '/' || c.name FROM CloudNode c JOIN tree ON c.parent = tree.id ORDER BY 2) \
                SELECT path FROM tree
                """
            )
            statement.bind(top, at: 1)
            var paths: [String] = []
            while try statement.step() { paths.append(statement.text(0)) }
            return Sample(cost: watch.seconds, check: Checksum(paths: paths))
        }
    }

    /// Bytes sealed in chunks of 64 KiB.
    ///
    /// Equal: AES-256-GCM over the same chunks. Strata also derives each nonce from the chunk, and reads and gives the bytes as a stream.
    static func seal(_ sizes: Sizes) -> Row {
        Row(
            work: .seal,
            name: "seal \(sizes.sealed >> 20) MiB (reference: AES-GCM alone)",
            unit: .milliseconds,
            target: nil
        ) { round in
            let data = StrataSides.bytes(round.sizes.sealed)
            let key = SymmetricKey(size: .bits256)
            let watch = Stopwatch()
            var size = 0
            for start in stride(from: 0, to: data.count, by: StrataSides.chunkSize) {
                let box = try AES.GCM.seal(data[start..<min(start + StrataSides.chunkSize, data.count)], using: key)
                size += box.ciphertext.count
            }
            let seconds = watch.seconds
            guard size == data.count else { throw BenchError("not all is sealed") }
            return Sample(cost: seconds)
        }
    }
}

extension Checksum {
    init(paths: [String]) {
        self.init()
        for path in paths {
            var hash = RowHash()
            hash.add(path)
            add(hash)
        }
    }
}
