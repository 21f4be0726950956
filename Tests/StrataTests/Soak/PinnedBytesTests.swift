import Foundation
import StoreModels
import Synchronization
import Testing

@testable import Strata

/// `STRATA_BYTES_ROUNDS` sets the number of rounds of each of the three workers.
@Suite("External bytes of pinned contexts while others replace them", .timeLimit(.minutes(10)))
struct PinnedBytesTests {
    private struct TakenBack: Error {}

    private final class Flag: Sendable { let isSet = Atomic(false) }

    /// The failures of a stack that no caller has received.
    private final class FailureList: Sendable {
        private let texts = Mutex<[String]>([])
        private let listening = Mutex<Task<Void, Never>?>(nil)

        init(of stack: ContextStack) {
            let reports = stack.failures
            let task = Task {
                for await failure in reports { self.texts.withLock { $0.append("\(failure)") } }
            }
            listening.withLock { $0 = task }
        }

        /// Ends the list, and returns the failures so far.
        func end() -> [String] {
            listening.withLock { $0 }?.cancel()
            return texts.withLock { $0 }
        }
    }

    /// A pinned context with undo, beside an ordinary one.
    private static func draft(in stack: ContextStack) async throws -> ContextHandle {
        try stack.create(.private, named: "desk")
        let draft = try stack.create(.private, named: "draft", merging: .pinned)
        try await draft.perform { $0.undoLevels = 20 }
        return draft
    }

    /// Long runs have found faults: see `Documentation/Known-gaps.md`.
    private static let isLong = ProcessInfo.processInfo.environment["STRATA_BYTES_ROUNDS"] != nil
    private static let rounds = ProcessInfo.processInfo.environment["STRATA_BYTES_ROUNDS"].flatMap { Int($0) } ?? 60

    @Test("A pinned context that edits, saves, undoes and takes back always has the bytes of the rows that it shows")
    func bytes() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("bytes.sqlite")
        let stack = try await ContextStack.open(.sqlite(url), models: Soak.models)
        let others = try await ContextStack.open(.sqlite(url), models: Soak.models, stack: .rootOnly)
        let ids = try await others.on(.root) { context in
            let items = (0..<4).map {
                Soak.Item(label: "item \($0)", value: 0, photoSeed: $0 + 1, photo: Soak.photo($0 + 1))
            }
            for item in items { context.insert(item) }
            try context.commit()
            return items.map(\.id)
        }
        let failures = FailureList(of: stack)
        let draft = try await Self.draft(in: stack)
        let seed = SeededGenerator.seed
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var random = SeededGenerator(seed: seed)
                for _ in 0..<Self.rounds {
                    let (id, number) = (ids.randomElement(using: &random)!, Int.random(in: 1...Int.max))
                    try await others.write { context in
                        let item = try #require(try context.find(id))
                        (item.photoSeed, item.photo) = (number, Soak.photo(number))
                    }
                }
            }
            group.addTask {
                var random = SeededGenerator(seed: seed &+ 1)
                for _ in 0..<Self.rounds {
                    let (id, number) = (ids.randomElement(using: &random)!, Int.random(in: 1...Int.max))
                    try await stack.on(.root) { $0.mergePolicy = .mine }
                    try await stack.on(.main) { $0.mergePolicy = .mine }
                    try await stack.on("desk") { context in
                        context.mergePolicy = .mine
                        let item = try #require(try context.find(id))
                        (item.photoSeed, item.photo) = (number, Soak.photo(number))
                    }
                    try await stack.push(try stack["desk"]) { _ in try await stack.save() }
                    // Rebases the changes of the draft twice.
                    try await stack.on(.main) { context in
                        _ = try? context.savepoint {
                            try #require(try context.find(id)).value += 1
                            throw TakenBack()
                        }
                    }
                }
            }
            group.addTask {
                var random = SeededGenerator(seed: seed &+ 2)
                for round in 0..<Self.rounds {
                    let id = ids.randomElement(using: &random)!
                    let (step, throwing) = (Int.random(in: 0..<5, using: &random), Bool.random(using: &random))
                    let wrong = try await draft.perform { context in
                        try Self.work(step, throwing, id, context)
                        return try context.fetch(Soak.Item.all).filter { $0.photo != Soak.photo($0.photoSeed) }.map {
                            "\($0.id): \($0.photo?.count ?? -1) bytes for \($0.photoSeed)"
                        }
                    }
                    #expect(wrong == [], "seed \(seed), round \(round), step \(step)")
                }
            }
            try await group.waitForAll()
        }
        #expect(failures.end() == [], "seed \(seed)")
        try await others.close()
        try await stack.close()
    }

    @Test(
        "A savepoint that throws and an undo restore what a pinned context shows, also while others commit",
        .enabled(if: isLong)
    )
    func contents() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("contents.sqlite")
        let stack = try await ContextStack.open(.sqlite(url), models: Soak.models)
        let others = try await ContextStack.open(.sqlite(url), models: Soak.models, stack: .rootOnly)
        try await others.on(.root) { try Soak.found(in: $0) }
        let failures = FailureList(of: stack)
        let draft = try await Self.draft(in: stack)
        let seed = Dice.seed
        let isOver = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var dice = Dice(seed: seed &+ 1)
                while !isOver.isSet.load(ordering: .relaxed) {
                    try await others.on(.root) { [dice] context in
                        var dice = dice
                        for _ in 0..<dice.number(1..<4) { try context.editAnything(&dice) }
                        try context.saveOrCommit(&dice)
                    }
                    _ = dice.next()
                }
            }
            group.addTask {
                var dice = Dice(seed: seed &+ 2)
                while !isOver.isSet.load(ordering: .relaxed) {
                    let name = dice.pick([ContextName.root, .main, "desk"])!
                    try await stack.on(name) { [dice] context in
                        var dice = dice
                        for _ in 0..<dice.number(1..<4) { try context.editAnything(&dice) }
                        if dice.chance(60) { try context.saveOrCommit(&dice) }
                        if dice.chance(10) { context.rollback(includingSaved: dice.chance(50)) }
                    }
                    _ = dice.next()
                }
            }
            group.addTask {
                defer { isOver.isSet.store(true, ordering: .relaxed) }
                var dice = Dice(seed: seed &+ 3)
                for round in 0..<Self.rounds {
                    let step = dice.number(0..<10)
                    let faults = try await draft.perform { [dice] context in
                        var dice = dice
                        switch step {
                        case 0: try context.saveOrCommit(&dice)
                        case 1: try context.merge()
                        case 2...3: for _ in 0..<dice.number(1..<4) { try context.editAnything(&dice) }
                        case 4...5: return try context.editAndUndo(&dice, details: Self.memberRows)
                        default: return try context.tryInSavepoint(isPinned: true, &dice)
                        }
                        return []
                    }
                    _ = dice.next()
                    #expect(faults == [], "STRATA_SEED=\(seed), round \(round), step \(step)")
                }
            }
            try await group.waitForAll()
        }
        let lost = failures.end().filter { !$0.contains("another context deleted the object") }
        #expect(lost == [], "STRATA_SEED=\(seed)")
        try await others.close()
        try await stack.close()
    }

    /// The rows of members that a context shows, with their ids and places, also several rows of one member.
    private static func memberRows(_ context: ObjectContext) throws -> [String] {
        context.publish()
        let connection = try context.currentConnection()
        var lines: [String] = []
        for entity in context.store.schema.entities where entity.info.isJoin {
            let info = entity.info
            let isPending = connection.overlay.parts[info.index] != nil
            let source = isPending ? Overlay.source(info, hidingDuplicates: false) + " AS rows" : info.sql.table
            try connection.statement("SELECT \(info.sql.columnList) FROM \(source)").run([]) { reader in
                let row = try JoinRow(_$from: reader)
                let places = [row.leftPlace, row.rightPlace].map { $0.map { "\($0)" } ?? "-" }
                lines.append("\(info.name) \(row._$id): \(row.left) \(row.right) at \(places[0]) \(places[1])")
            }
        }
        return lines
    }

    /// Makes a step in the pinned context.
    private static func work(
        _ step: Int,
        _ throwing: Bool,
        _ id: ObjectID<Soak.Item>,
        _ context: SavingContext
    ) throws {
        context.mergePolicy = .mine
        let item = try #require(try context.find(id))
        let number = Int.random(in: 1...Int.max)
        switch step {
        case 0: item.value = number % 100
        case 1: (item.photoSeed, item.photo) = (number, Soak.photo(number))
        case 2:
            try? context.savepoint {
                item.value = number % 100
                try context.save()
                if throwing { throw TakenBack() }
            }
        case 3: _ = throwing ? try context.undo() : try context.redo()
        default: if throwing { try context.merge() } else { try context.save() }
        }
    }
}
