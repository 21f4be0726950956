import Foundation
import Testing

@testable import Strata

@Suite("Savepoints") struct SavepointTests {
    struct Stop: Error {}

    @Test("An object that is inserted in a savepoint that throws is gone, and cannot be inserted again")
    func madeOutside() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let author = Author(name: "a")
            #expect(throws: Stop.self) {
                try context.savepoint {
                    context.insert(author)
                    throw Stop()
                }
            }
            #expect(author.isDeleted)
            context.insert(author)
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .invalidState)
        }
        try await stack.close()
    }

    @Test("A savepoint that throws leaves no trace in objects, queries and pending changes; one that returns stays")
    func memory() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let author = context.insert(Author(name: "a", fee: 1))
            let article = context.insert(Article(title: "t", author: author))
            author.name = "b"
            var inner: Author?
            #expect(throws: Stop.self) {
                try context.savepoint {
                    author.name = "c"
                    author.fee = 2
                    inner = context.insert(Author(name: "new"))
                    context.delete(article)
                    #expect(try context.count(Author.all) == 2)
                    throw Stop()
                }
            }
            #expect(author.name == "b" && author.fee == 1)
            #expect(inner?.isDeleted == true && !article.isDeleted)
            #expect(try context.count(Author.all) == 1)
            #expect(try author.articles.fetch().map(\.title) == ["t"])
            let value = try context.savepoint {
                author.name = "d"
                return 5
            }
            #expect(value == 5 && author.name == "d")
            try context.commit()
            #expect(try context.rows(Author.all).map(\.name) == ["d"])
        }
        try await stack.close()
    }

    @Test("A savepoint that throws deletes an object again that an undo in it has brought back", arguments: [1, 2])
    func undoneDelete(levels: Int) async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.on(.root) { context in
            context.undoLevels = 10
            let author = context.insert(Author(name: "a"))
            let other = context.insert(Author(name: "other"))
            try context.commit()
            context.undoGroup { context.delete(author) }
            #expect(throws: Stop.self) {
                try context.savepoint {
                    if levels == 1 { try context.undo() } else { try context.savepoint { _ = try context.undo() } }
                    #expect(try context.count(Author.all) == 2 && !author.isDeleted)
                    other.fee = 1
                    throw Stop()
                }
            }
            #expect(author.isDeleted && other.fee == nil)
            #expect(try context.count(Author.all) == 1)
            try context.commit()
            #expect(try context.rows(Author.all).map(\.name) == ["other"])
        }
        try await stack.close()
    }

    @Test("Undo of deletes in a savepoint does not keep its later segments apart")
    func undoInLoop() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.on(.root) { context in
            context.undoLevels = 10
            let author = context.insert(Author(name: "a"))
            try context.commit()
            try context.savepoint {
                for number in 0..<100 {
                    context.undoGroup { _ = context.insert(Author(name: "\(number)")) }
                    context.undoGroup { context.delete(author) }
                    try context.undo()
                }
                #expect(!author.isDeleted)
                #expect(try context.count(Author.all) == 101)
                #expect(context.store.layers.state.withLock { $0.layers[context.id].count } < 20)
            }
        }
        try await stack.close()
    }

    @Test("The end of a savepoint also merges segments that were kept apart for deletes that may return")
    func mergeAtEnd() {
        var layers = LayerSnapshot()
        layers.add(context: 1, parent: nil, committedOnly: false)
        func push(_ numbers: Range<Int64>) {
            let changes = numbers.map { Change<JoinRow>.insert(JoinRow(number: $0, left: 1, right: 2)) }
            let part = RowChanges(ids: changes.map(\.row._$id), changes: changes)
            layers.push([0: part], provenance: Provenance(1), to: 1, frozen: [])
        }
        push(1..<5)
        layers.addFloor(to: 1)
        push(5..<9)
        _ = layers.reserveSegment(in: 1)
        push(9..<10)
        #expect(layers[1].map(\.count) == [4, 4, 1])
        layers.removeFloor(of: 1, frozen: [])
        #expect(layers[1].map(\.count) == [8, 1] && layers.floors.isEmpty)
    }

    @Test("Savepoints can be nested")
    func nesting() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let author = context.insert(Author(name: "0"))
            var caught = 0
            func level(_ depth: Int) throws {
                author.name += "\(depth)"
                if depth == 6 { throw Stop() }
                // Every second level catches the errors from inside.
                if depth.isMultiple(of: 2) {
                    do { try context.savepoint { try level(depth + 1) } } catch is Stop { caught += 1 }
                } else {
                    try context.savepoint { try level(depth + 1) }
                }
            }
            try context.savepoint { try level(1) }
            #expect(author.name == "01234" && caught == 1)
        }
        try await stack.close()
    }

    @Test("A commit or a batch inside a savepoint is refused, and the savepoint continues")
    func commits() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.on(.root) { context in
            try context.savepoint {
                context.insert(Author(name: "a"))
                for attempt in [
                    { try context.commit() }, { try context.save() }, { _ = try context.batchDelete(Author.all) },
                ] {
                    let error = #expect(throws: StrataError.self) { try attempt() }
                    #expect(error?.code == .invalidState)
                }
            }
            try context.commit()
            #expect(try context.count(Author.all) == 1)
        }
        try await stack.close()
    }

    @Test("A savepoint that throws keeps changes that a child saves meanwhile")
    func others() async throws {
        let stack = try await openStack(.rootOnly)
        try stack.create(.private, named: .network)
        let id = try await stack.on(.network) { context in
            let author = context.insert(Author(name: "a"))
            return author.id
        }
        let child = try await stack.on(.network) { _ in try stack.create(.private, named: .other) }
        let layers = stack.core.engine.layers
        try await stack.on(.network) { context in
            #expect(throws: Stop.self) {
                try context.savepoint {
                    try #require(try context.find(id)).name = "b"
                    // Like a child that saves while this block runs.
                    let other = JoinRow(number: 900_000, left: 1, right: 2)
                    let join = try #require(context.store.schema.memberships.keys.first)
                    let part = RowChanges(ids: [other._$id], changes: [.insert(other)])
                    _ = layers.publish([join: part], provenance: Provenance(child.id), by: context.id, seenThrough: 0)
                    throw Stop()
                }
            }
            let own = layers.state.withLock { $0.layers[context.id] }
            #expect(own.contains { $0.provenance == Provenance(child.id) })
            let author = try context.find(id)
            #expect(author?.name == "a")
        }
        try await stack.close()
    }

    @Test("A rollback in a savepoint drops the edits made in it, and a parent may roll back meanwhile")
    func rollbacks() async throws {
        let stack = try await openStack(.rootOnly)
        try stack.create(.private, named: .network)
        try await stack.on(.root) { _ = $0.insert(Author(name: "root")) }
        try await stack.on(.network) { context in
            let author = context.insert(Author(name: "a"))
            try context.savepoint {
                author.name = "b"
                _ = try context.count(Author.all)
                context.rollback()
                #expect(author.name == "a" && !author.isDeleted)
                // Like the root on its own executor.
                let root = try stack[.root].id
                let layers = context.store.layers
                let snapshot = try context.currentSnapshot()
                let isDropped = try layers.drop(
                    from: root,
                    { _ in true },
                    keeping: { _ in false },
                    schema: context.store.schema,
                    LayerReading(connection: snapshot.reader.connection, sequence: snapshot.sequence)
                )
                #expect(isDropped == true)
            }
            try context.commit()
            #expect(try context.rows(Author.all).map(\.name) == ["a"])
        }
        try await stack.close()
    }

    @Test("A rollback of single objects in a savepoint keeps deletes from before the savepoint, with their effects")
    func rollbackOfEarlierDelete() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let author = context.insert(Author(name: "a"))
            try context.commit()
            let article = context.insert(Article(title: "t", author: author))
            context.delete(author)
            try context.savepoint { context.rollback([author]) }
            #expect(author.isDeleted && article.isDeleted)
            context.rollback([author])
            #expect(!author.isDeleted && !article.isDeleted && article.author === author)
            try context.commit()
        }
        try await stack.close()
    }

    @Test("Commits by others during a savepoint that throws show afterwards")
    func commitsOfOthers() async throws {
        let stack = try await openStack(.rootOnly)
        try stack.create(.private, named: .network)
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "a", fee: 1))
            try context.commit()
            return author.id
        }
        let (begin, done) = (Signal(), Signal())
        let other = Task.detached {
            await begin.wait()
            try await stack.background(parent: .named(.root)) { context in
                try #require(try context.find(id)).fee = 2
                try context.commit()
            }
            done.set()
        }
        try await stack.on(.network) { context in
            let author = try #require(try context.find(id))
            author.name = "mine"
            #expect(throws: Stop.self) {
                try context.savepoint {
                    let sequence = context.store.layers.newestSequence
                    begin.set()
                    let end = ContinuousClock.now + .seconds(30)
                    while context.store.layers.newestSequence == sequence, ContinuousClock.now < end {}
                    context.insert(Author(name: "other"))
                    throw Stop()
                }
            }
            #expect(author.name == "mine" && author.fee == 2)
            try context.commit()
        }
        try await other.value
        let rows = try await stack.background { try $0.rows(Author.all) }
        #expect(rows.map(\.name) == ["mine"] && rows.map(\.fee) == [2])
        try await stack.close()
    }

    @Test("Many savepoints, some of which fail, have the result of a plain loop and no additional segments")
    func many() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            for index in 0..<2000 {
                do {
                    try context.savepoint {
                        let author = context.insert(Author(name: "\(index)"))
                        author.fee = 1
                        if index.isMultiple(of: 3) { throw Stop() }
                    }
                } catch is Stop {}
            }
            #expect(context.store.layers.state.withLock { $0.layers[context.id].count } < 20)
            try context.commit()
            let expected = (0..<2000).filter { !$0.isMultiple(of: 3) }.map(String.init)
            #expect(try context.rows(Author.all).map(\.name) == expected)
        }
        #expect(stack.core.engine.layers.state.withLock { $0.frozen.isEmpty && $0.layers.floors.isEmpty })
        try await stack.close()
    }

    @Test("Many savepoints that publish large and then small changes leave few segments")
    func severalPublications() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            for index in 0..<300 {
                try context.savepoint {
                    for number in 0..<5 { context.insert(Author(name: "\(index) \(number)")) }
                    // The query publishes the authors so far.
                    _ = try context.count(Author.all)
                    context.insert(Author(name: "last of \(index)"))
                }
            }
            #expect(context.store.layers.state.withLock { $0.layers[context.id].count } < 20)
            #expect(try context.count(Author.all) == 1800)
        }
        try await stack.close()
    }
}
