import Foundation
import Logging
import StoreModels
import Synchronization
import Testing

@testable import Strata

@Suite("Rows of pinned contexts while others replace them") struct PinnedSnapshotTests {
    @Model final class Slide {
        var title: String
        @Attribute(.externalStorage) var photo: Data?
        @Attribute(.updatedAt) var changedAt: Date?

        /// Runs in a save, before the timestamps are set.
        func willUpdate(in context: ObjectContext) { context.state[Meanwhile.self]?() }

        /// Runs in a save, after the timestamps are set.
        func validate(in context: ObjectContext, _ failures: inout Validation<Slide>) throws {
            failures.require(title != "invalid", "is invalid", column: \.title)
        }
    }

    @Model final class Picture {
        var title: String
        @Attribute(.externalStorage) var photo: Data?
    }

    enum Meanwhile: ContextStateKey { typealias Value = () -> Void }

    /// A step that is due when the stack runs its next statement for one context.
    private final class Interruption: Sendable {
        private let step = Mutex<(@Sendable () -> Void)?>(nil)

        var isDue: Bool { step.withLock { $0 != nil } }

        func arm(_ body: @escaping @Sendable () -> Void) { step.withLock { $0 = body } }

        func run() {
            let due = step.withLock { step in
                defer { step = nil }
                return step
            }
            due?()
        }
    }

    /// Runs a step on the thread that logs a statement of one context.
    private struct InterruptingLogHandler: LogHandler {
        let interruption: Interruption
        let context: String
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?
        var logLevel: Logger.Level = .debug

        func log(event: LogEvent) {
            if event.metadata?[LogKey.context]?.description == context { interruption.run() }
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
    }

    private func insertSlide(_ stack: ContextStack) async throws -> ObjectID<Slide> {
        try await stack.background { context in
            let slide = context.insert(Slide(title: "first", photo: Data([1])))
            try context.commit()
            return slide.id
        }
    }

    @Test("A refused save of a pinned context shows no values that others have committed during the save")
    func failedSave() async throws {
        let folder = try ScratchFolder()
        let stack = try await ContextStack.open(.sqlite(folder.file("slides.sqlite")), models: [Slide.self])
        let id = try await insertSlide(stack)
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        try await pinned.perform { context in
            let slide = try #require(try context.find(id))
            slide.title = "invalid"
            context.state[Meanwhile.self] = { [weak context] in
                context?.state[Meanwhile.self] = nil
                do {
                    try stack.meanwhile { other in try #require(try other.find(id)).photo = Data([2]) }
                } catch {
                    Issue.record(error)
                }
            }
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.code == .validation)
            #expect(context.state[Meanwhile.self] == nil)
            let photo = slide.photo
            #expect(photo == Data([1]))
            slide.title = "valid"
            try context.commit()
            let merged = slide.photo
            #expect(merged == Data([2]) && slide.title == "valid")
        }
        try await stack.close()
    }

    /// The pinned context shows bytes that its parent has not stored yet. A commit then stores them.
    @Test("A pinned context shows bytes in its parent that a commit has stored since, also after its layer was rebased")
    func storedSince() async throws {
        let folder = try ScratchFolder()
        let stack = try await ContextStack.open(
            .sqlite(folder.file("slides.sqlite")),
            models: [Slide.self],
            stack: .rootOnly
        )
        let id = try await insertSlide(stack)
        let root: ContextHandle = try stack[.root]
        let child = try stack.create(.private, named: "child")
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        // The save sets the timestamp, so that the commit of root writes exactly the row that the pinned context sees.
        try await child.perform { context in
            try #require(try context.find(id)).photo = Data([2])
            try context.save()
        }
        try await pinned.perform { context in
            let slide = try #require(try context.find(id))
            let photo = slide.photo
            #expect(photo == Data([2]))
            slide.title = "second"
        }
        try await root.perform { try $0.commit() }
        // The edit, and its rollback, rebase the change of the pinned context onto rows that were read from the store.
        try await root.perform { context in try #require(try context.find(id)).title = "temporary" }
        try await root.perform { $0.rollback() }
        let (title, photo) = try await pinned.perform { context in
            let slide = try #require(try context.find(id))
            return (slide.title, slide.photo)
        }
        #expect(title == "second" && photo == Data([2]), "\(title), \(photo.map(\.count) ?? -1) bytes")
        let (merged, stored) = try await pinned.perform { context in
            try context.commit()
            let slide = try #require(try context.find(id))
            return (slide.title, slide.photo)
        }
        #expect(merged == "second" && stored == Data([2]))
        try await stack.close()
    }

    @Test("A pinned context that merges while its parent publishes an older row never shows that row")
    func parentsEdit() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("slides.sqlite")
        let interruption = Interruption()
        let logger = Logger(label: "test") { _ in
            InterruptingLogHandler(interruption: interruption, context: "parent")
        }
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: [Slide.self],
            logger: logger,
            diagnostics: Diagnostics(statements: .text)
        )
        let others = try await ContextStack.open(.sqlite(url), models: [Slide.self], stack: .rootOnly)
        let id = try await insertSlide(others)
        let parent = try stack.create(.private, named: "parent")
        let pinned = try await parent.perform { _ in
            try stack.create(.private, named: "pinned", merging: .pinned)
        }
        try await parent.perform { context in
            let slide = try #require(try context.find(id))
            try waitForTask {
                try await others.on(.root) { other in
                    try #require(try other.find(id)).photo = Data([2])
                    try other.commit()
                }
                // From here on, the layers know the commit, but not its rows.
                try await pinned.perform { try $0.merge() }
            }
            slide.title = "second"
            interruption.arm {
                do {
                    try waitForTask { try await pinned.perform { try $0.merge() } }
                } catch {
                    Issue.record(error)
                }
            }
            context.publish()
            #expect(!interruption.isDue)
        }
        let (before, photo) = try await pinned.perform { context in
            let slide = try #require(try context.find(id))
            return (slide.title, slide.photo)
        }
        #expect(before == "first" && photo == Data([2]))
        let (title, merged) = try await pinned.perform { context in
            try context.merge()
            let slide = try #require(try context.find(id))
            return (slide.title, slide.photo)
        }
        #expect(title == "second" && merged == Data([2]))
        try await parent.perform { try $0.commit() }
        let stored = try await others.background { try $0.find(id).map { ($0.title, $0.photo) } }
        #expect(stored?.0 == "second" && stored?.1 == Data([2]))
        try await others.close()
        try await stack.close()
    }

    /// No other column of the row changes in between: the model has no timestamps.
    @Test("A child's older edit shows the bytes that its parent has restored by an undo after a commit")
    func restoredMeanwhile() async throws {
        let folder = try ScratchFolder()
        let stack = try await ContextStack.open(
            .sqlite(folder.file("pictures.sqlite")),
            models: [Picture.self],
            stack: .rootOnly
        )
        let id = try await stack.background { context in
            let picture = context.insert(Picture(title: "first", photo: Data([1])))
            try context.commit()
            return picture.id
        }
        let parent = try stack.create(.private, named: "parent")
        let child = try await parent.perform { context in
            context.undoLevels = 2
            return try stack.create(.private, named: "child")
        }
        try await child.perform { context in
            let picture = try #require(try context.find(id))
            try waitForTask {
                try await parent.perform { parent in
                    try #require(try parent.find(id)).photo = Data([2])
                    try parent.commit()
                    // The store does not have the first bytes any more.
                    try parent.undo()
                }
            }
            picture.title = "second"
        }
        let (title, photo) = try await child.perform { context in
            let picture = try #require(try context.find(id))
            return (picture.title, picture.photo)
        }
        #expect(title == "second" && photo == Data([1]), "\(title), \(photo.map(\.count) ?? -1) bytes")
        try await child.perform { try $0.commit() }
        try await parent.perform { try $0.commit() }
        let stored = try await stack.background { try $0.find(id).map { ($0.title, $0.photo) } }
        #expect(stored?.0 == "second" && stored?.1 == Data([1]))
        try await stack.close()
    }
}
