import Foundation
import Strata
import TestHomeTraits
import Testing

@Suite("The journal beside the store", .aboutTheFile("measures the journal")) struct JournalTests {
    private func size(of url: URL) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: url.path + "-wal")[.size] as? Int)
    }

    private func openStack(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(url),
            models: allModels,
            stack: .rootOnly,
            configuration: StoreConfiguration(synchronous: .normal)
        )
    }

    /// A commit of about a hundred kilobytes.
    private func commit(_ index: Int, _ stack: ContextStack) async throws {
        try await stack.on(.root) { context in
            try context.batchDelete(Author.all)
            context.insert(Author(name: String(repeating: "\(index % 10)", count: 100_000)))
            try context.commit()
        }
    }

    @Test("The journal restarts while a pinned context follows the commits")
    func followed() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("followed.sqlite")
        let stack = try await openStack(url)
        let pinned = try stack.create(.private, named: "pinned", merging: .pinned)
        for index in 0..<400 {
            try await commit(index, stack)
            let name = try await pinned.perform { context in
                try context.merge()
                return try context.first(Author.all)?.name.first
            }
            #expect(name == "\(index % 10)".first)
        }
        // Without a restart the journal would grow to more than forty megabytes.
        #expect(try size(of: url) < 16 << 20)
        try await stack.close()
    }

    @Test("The journal gives back the space that a large commit has taken")
    func large() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("large.sqlite")
        let stack = try await openStack(url)
        try await stack.on(.root) { context in
            for _ in 0..<300 { context.insert(Author(name: String(repeating: "a", count: 100_000))) }
            try context.commit()
        }
        #expect(try size(of: url) > 30_000_000)
        for index in 0..<3 { try await commit(index, stack) }
        #expect(try size(of: url) < 16 << 20)
        try await stack.close()
    }
}
