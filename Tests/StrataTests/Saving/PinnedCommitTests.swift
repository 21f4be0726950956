import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("Changes of pinned contexts that other contexts commit") struct PinnedCommitTests {
    @Model final class Card {
        var title: String
        var note: String?
    }

    private enum Kept: ContextStateKey { typealias Value = Card }

    /// A pinned context over root, with a child. Two cards are in the store.
    private struct Fixture {
        let folder: ScratchFolder
        let stack: ContextStack
        let pinned: ContextHandle
        let child: ContextHandle
        let card: ObjectID<Card>
        let other: ObjectID<Card>

        init() async throws {
            folder = try ScratchFolder()
            stack = try await ContextStack.open(
                .sqlite(folder.file("cards.sqlite")),
                models: [Card.self],
                stack: .rootOnly
            )
            (card, other) = try await stack.background { context in
                let cards = [Card(title: "first"), Card(title: "other")]
                for card in cards { context.insert(card) }
                try context.commit()
                return (cards[0].id, cards[1].id)
            }
            pinned = try stack.create(.private, named: "pinned", merging: .pinned)
            child = try stack.create(.private, named: "child", parent: .named("pinned"))
        }

        /// Lets the pinned context read, and runs an edit of the first card in it.
        func edit(_ body: @escaping @Sendable (Card, SavingContext) throws -> Void) async throws {
            let id = card
            try await pinned.perform { context in
                let card = try #require(try context.find(id))
                context.state[Kept.self] = card
                try body(card, context)
            }
        }

        /// Commits another note of the other card, which the pinned context must not show before it moves.
        func commitElsewhere() async throws {
            let id = other
            try await stack.background { context in
                try #require(try context.find(id)).note = "newest"
                try context.commit()
            }
        }

        /// What the pinned context shows in a new block.
        func shown() async throws -> Shown {
            let (card, other) = (card, other)
            return try await pinned.perform { context in
                let kept = try #require(context.state[Kept.self])
                let title = kept.title
                return Shown(
                    title: title,
                    note: kept.note,
                    isFound: try context.count(Card.where { $0.id == card && $0.title == title }) == 1,
                    isNewest: try context.find(other)?.note == "newest",
                    hasChanges: context.hasChanges
                )
            }
        }
    }

    private struct Shown: Equatable {
        var title: String
        var note: String?
        /// Whether a query finds the title, too.
        var isFound = true
        /// Whether the context shows the newest commit of others.
        var isNewest = true
        var hasChanges = false
    }

    @Test("After a commit of a whole chain, a pinned parent shows the newest state, with its own committed changes")
    func chain() async throws {
        let fixture = try await Fixture()
        try await fixture.edit { card, _ in card.title = "second" }
        try await fixture.commitElsewhere()
        try fixture.stack.push(fixture.pinned)
        try fixture.stack.push(fixture.child)
        try await fixture.stack.save()
        let shown = try await fixture.shown()
        #expect(shown == Shown(title: "second"))
        // The commit was not news for the next edit.
        try await fixture.edit { card, context in
            card.note = "third"
            try context.commit()
        }
        let last = try await fixture.shown()
        #expect(last == Shown(title: "second", note: "third"))
        try await fixture.stack.close()
    }

    @Test("After a child's commit of changes that it had saved to a pinned parent, the parent shows the newest state")
    func savedBefore() async throws {
        let fixture = try await Fixture()
        let id = fixture.card
        try await fixture.edit { _, _ in }
        try await fixture.child.perform { context in
            try #require(try context.find(id)).title = "second"
            try context.save()
        }
        try await fixture.commitElsewhere()
        let before = try await fixture.shown()
        #expect(before == Shown(title: "second", isNewest: false, hasChanges: true))
        try await fixture.child.perform { try $0.commit() }
        let shown = try await fixture.shown()
        #expect(shown == Shown(title: "second"))
        try await fixture.stack.close()
    }

    @Test("After a child's commit that overwrites an edit of a pinned parent, the parent shows the committed value")
    func overwritten() async throws {
        let fixture = try await Fixture()
        let id = fixture.card
        try await fixture.edit { card, _ in card.title = "second" }
        try await fixture.commitElsewhere()
        try await fixture.child.perform { context in
            let card = try #require(try context.find(id))
            #expect(card.title == "second")
            card.title = "third"
            try context.commit()
        }
        let shown = try await fixture.shown()
        #expect(shown == Shown(title: "third"))
        try await fixture.stack.close()
    }

    @Test("After a child's commit that includes an object inserted by a pinned parent, the parent still has the object")
    func included() async throws {
        let fixture = try await Fixture()
        try await fixture.edit { _, _ in }
        let inserted = try await fixture.pinned.perform { context in
            let card = context.insert(Card(title: "inserted"))
            context.state[Kept.self] = card
            return card.id
        }
        try await fixture.child.perform { context in
            try #require(try context.find(inserted)).note = "edited"
            try context.commit()
        }
        let (title, note, count) = try await fixture.pinned.perform { context in
            let card = try #require(try context.find(inserted))
            return (card.title, card.note, try context.count(Card.all))
        }
        #expect(title == "inserted" && note == "edited" && count == 3)
        try await fixture.stack.close()
    }

    @Test("A child's commit that contains no change of a pinned parent does not move the parent")
    func untouched() async throws {
        let fixture = try await Fixture()
        let id = fixture.card
        try await fixture.edit { card, _ in card.title = "second" }
        try await fixture.commitElsewhere()
        try await fixture.child.perform { context in
            try #require(try context.find(id)).note = "child's"
            try context.commit()
        }
        let shown = try await fixture.shown()
        #expect(shown == Shown(title: "second", isNewest: false, hasChanges: true))
        try await fixture.pinned.perform { try $0.merge() }
        let merged = try await fixture.shown()
        #expect(merged == Shown(title: "second", note: "child's", hasChanges: true))
        try await fixture.stack.close()
    }

    @Test("A child's commit in the middle of a block of a pinned parent shows no earlier values, also after a rollback")
    func inBlock() async throws {
        let fixture = try await Fixture()
        let (child, other) = (fixture.child, fixture.other)
        let id = fixture.card
        try await fixture.edit { _, _ in }
        try await child.perform { context in
            try #require(try context.find(id)).title = "second"
            try context.save()
        }
        try await fixture.commitElsewhere()
        try await fixture.pinned.perform { context in
            let card = try #require(context.state[Kept.self])
            try waitForTask { try await child.perform { try $0.commit() } }
            // The block keeps its state, although the change is no longer in its layer.
            let found = try context.count(Card.where { $0.title == "second" })
            let note = try context.find(other)?.note
            #expect(card.title == "second" && found == 1 && note == nil)
            card.note = "temporary"
            let edited = try context.count(Card.where { $0.title == "second" && $0.note == "temporary" })
            #expect(edited == 1)
            context.rollback()
            let foundAfter = try context.count(Card.where { $0.title == "second" })
            #expect(card.title == "second" && card.note == nil && foundAfter == 1)
        }
        let shown = try await fixture.shown()
        #expect(shown == Shown(title: "second"))
        try await fixture.stack.close()
    }

    @Test("An edit of a pinned parent over a change that a child commits meanwhile does not conflict with it")
    func editedOnTop() async throws {
        let fixture = try await Fixture()
        let child = fixture.child
        let id = fixture.card
        try await fixture.edit { _, _ in }
        try await child.perform { context in
            try #require(try context.find(id)).title = "second"
            try context.save()
        }
        try await fixture.commitElsewhere()
        try await fixture.pinned.perform { context in
            let card = try #require(context.state[Kept.self])
            try waitForTask { try await child.perform { try $0.commit() } }
            card.title = "third"
        }
        let edited = try await fixture.shown()
        #expect(edited == Shown(title: "third", hasChanges: true))
        try await fixture.pinned.perform { try $0.commit() }
        let committed = try await fixture.shown()
        #expect(committed == Shown(title: "third"))
        try await fixture.stack.close()
    }
}
