import CStrataSQLite
import Foundation
import GRDB
import Testing

@testable import Strata

@Suite("Values beyond SQLite's limits") struct SQLiteLimitTests {
    enum Models {
        @Model final class Page {
            var title: String = ""
            var text: String?
            var bytes: Data?
            var link: URL?
            @Attribute(.externalStorage) var scan: Data?
        }
    }

    /// A stack whose store does not take texts or data of 100,000 bytes.
    private func open(_ folder: ScratchFolder) async throws -> (ContextStack, DatabasePool) {
        var configuration = Configuration()
        configuration.prepareDatabase { sqlite3_limit($0.sqliteConnection, SQLITE_LIMIT_LENGTH, 100_000) }
        let pool = try DatabasePool(path: folder.file("pages.sqlite").path, configuration: configuration)
        return (try await ContextStack.open(.pool(pool), models: [Models.Page.self], stack: .rootOnly), pool)
    }

    @Test("The store refuses the commit of a value that is too large, keeps the changes, and writes nothing")
    func commit() async throws {
        let folder = try ScratchFolder()
        let (stack, pool) = try await open(folder)
        let long = String(repeating: "a", count: 100_001)
        let pages: [@Sendable () -> Models.Page] = [
            { Models.Page(text: long) }, { Models.Page(bytes: Data(long.utf8)) },
            { Models.Page(link: URL(string: "https://example.com/" + long)) }, { Models.Page(scan: Data(long.utf8)) },
        ]
        for page in pages {
            try await stack.background { context in
                let page = context.insert(page())
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .database && error?.message.contains("exceeds SQLite's size limit") == true)
                #expect(context.hasChanges)
                context.delete(page)
                context.insert(Models.Page(title: "short"))
                try context.commit()
            }
        }
        try await stack.background { context in
            let titles = try context.fetch(Models.Page.self).map(\.title)
            #expect(titles == Array(repeating: "short", count: 4))
            let error = #expect(throws: StrataError.self) {
                _ = try context.count(Models.Page.where { $0.title == long })
            }
            #expect(error?.message.contains("exceeds SQLite's size limit") == true)
        }
        try await stack.close()
        try pool.close()
    }
}
