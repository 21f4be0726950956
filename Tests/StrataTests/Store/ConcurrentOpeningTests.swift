import Foundation
import Testing

@testable import Strata

@Suite struct ConcurrentOpeningTests {
    @Test("Stacks that open a new file at the same moment all get it, and see each other's commits")
    func newFile() async throws {
        for _ in 0..<20 {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("strata-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appendingPathComponent("store.sqlite")
            let stacks = try await withThrowingTaskGroup(of: ContextStack.self) { group in
                for _ in 0..<6 {
                    group.addTask { try await ContextStack.open(.sqlite(file), models: allModels, stack: .rootOnly) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (number, stack) in stacks.enumerated() {
                try await stack.background { context in
                    context.insert(Author(name: "Author \(number)"))
                    try context.commit()
                }
            }
            for stack in stacks {
                #expect(try await stack.background { try $0.count(Author.all) } == 6)
                try await stack.close()
            }
        }
    }
}
