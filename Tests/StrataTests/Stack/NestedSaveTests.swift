import Testing

@testable import Strata

/// A model whose validation reaches back into the context that is being saved.
@Model final class Reentrant {
    var label: String

    /// Proof for `unsafe`: one test uses the model, in blocks of one context, and validation runs on that context's executor.
    nonisolated(unsafe) static var whileValidating: (() -> Void)?

    static func validate(_ row: Row, _ failures: inout Validation<Reentrant>) { whileValidating?() }
}

@Suite("A save inside a save", .timeLimit(.minutes(1)))
struct NestedSaveTests {
    @Test("A save inside a save throws, and the context is usable afterwards")
    func nested() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Reentrant.self])
        let codes = try await stack.background { context in
            context.insert(Reentrant(label: "a"))
            var codes: [StrataError.Code] = []
            Reentrant.whileValidating = {
                do { try context.save() } catch { codes.append((error as? StrataError)?.code ?? .database) }
                do { try context.commit() } catch { codes.append((error as? StrataError)?.code ?? .database) }
            }
            try context.save()
            Reentrant.whileValidating = nil
            context.insert(Reentrant(label: "b"))
            try context.save()
            #expect(try context.count(Reentrant.all) == 2)
            return codes
        }
        #expect(codes == [.invalidState, .invalidState])
        try await stack.close()
    }
}
