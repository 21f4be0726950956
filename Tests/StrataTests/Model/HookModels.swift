import Foundation
import StoreModels

@testable import Strata

// Models with hooks. Each call is logged in the state of the context.

enum HookLog: ContextStateKey { typealias Value = [String] }

extension ObjectContext {
    func note(_ event: String) { state[HookLog.self] = (state[HookLog.self] ?? []) + [event] }

    /// The calls since the last look at the log.
    func takeLog() -> [String] {
        defer { state[HookLog.self] = nil }
        return state[HookLog.self] ?? []
    }
}

struct HookFailure: Error, Equatable { let name: String }

@Model final class Memo {
    var name: String
    var slug: String = ""
    var touched: Int = 0
    @Attribute(.updatedAt) var updatedAt: Date?
    @Relationship(deleteRule: .cascade, inverse: \MemoLine.memo) var lines: Many<MemoLine>
    @Transient var label = ""

    func willInsert(in context: ObjectContext) throws {
        context.note("insert \(name) \(updatedAt == nil)")
        slug = name.lowercased()
        if name == "Bad" { throw HookFailure(name: name) }
        if name == "Parent" { context.insert(Memo(name: "Child")) }
        if name == "Killer" {
            for other in try context.fetch(Memo.where { $0.name == "Victim" }) { context.delete(other) }
        }
        if name == "Saver" { try context.cast.save() }
        // This insert fails as if the store had no id left, and succeeds when the save retries it.
        if name == "Postponer" {
            context.saving.recordFailedInsert(of: Memo(name: "Postponed"), StrataError(.busy, "No id is left."))
        }
    }
}

// Hooks in an extension count as well.
extension Memo {
    func willUpdate(in context: ObjectContext) throws {
        context.note("update \(name)")
        slug = name.lowercased()
        if name == "Toucher" { for other in try context.fetch(Memo.self) where other !== self { other.touched += 1 } }
        if name == "Bad" { throw HookFailure(name: name) }
    }

    func willDelete(in context: ObjectContext) {
        context.note("delete \(name) \((try? lines.count) ?? -1)")
        if name == "Again" { context.delete(self) }
        if name == "Counted", let other = try? context.first(Memo.where { $0.name == "Counter" }) { other.touched += 1 }
    }

    func didFetch(in context: ObjectContext) {
        label = "<\(name)>"
        context.note("fetch \(name)")
        if name == "Seeker" { _ = try? context.fetch(Memo.where { $0.name == "Sought" }) }
    }
}

@Model final class MemoLine {
    var text: String
    var memo: Memo?

    func willDelete(in context: ObjectContext) { context.note("delete line \(text) of \(memo?.name ?? "-")") }
}

@Model final class Endless {
    var number: Int

    func willInsert(in context: ObjectContext) throws { context.insert(Endless(number: number + 1)) }
}

/// A rack holds as many crates as it has room for, which only the context can check.
@Model final class Rack {
    var room: Int
    @Relationship(inverse: \Crate.rack) var crates: Many<Crate>

    func validate(in context: ObjectContext, _ failures: inout Validation<Rack>) throws {
        failures.require(try crates.count <= room, "has no room for \(try crates.count)", column: \.crates)
        if room == 13 { room = 14 }
    }

    func validateDelete(in context: ObjectContext, _ failures: inout Validation<Rack>) {
        failures.require(room != 7, "is not to be deleted")
    }
}

@Model final class Crate {
    @Attribute(.range(0...10)) var size: Int = 0
    var rack: Rack?

    func validate(in context: ObjectContext, _ failures: inout Validation<Crate>) throws {
        guard let rack else { return }
        failures.require(try rack.crates.count <= rack.room, "is too much", column: \.rack)
    }
}

let hookModels: [any Model.Type] = [Memo.self, MemoLine.self, Endless.self, Rack.self, Crate.self, Cell.self]

func openHookStack(_ setUp: StackSetUp = .standard) async throws -> ContextStack {
    try await ContextStack.open(.inMemory, models: hookModels, stack: setUp)
}
