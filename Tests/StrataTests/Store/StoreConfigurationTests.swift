import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("Settings of a store", .timeLimit(.minutes(1))) struct StoreConfigurationTests {
    struct Refused: Sendable, CustomTestStringConvertible {
        let configuration: StoreConfiguration
        /// The setting and its value, as the error names them.
        let text: String

        init(_ configuration: StoreConfiguration, _ text: String) {
            self.configuration = configuration
            self.text = text
        }

        var testDescription: String { text }
    }

    static let refused = [
        Refused(StoreConfiguration(busyTimeout: -0.5), "`busyTimeout` of -0.5"),
        Refused(StoreConfiguration(busyTimeout: .nan), "`busyTimeout` of nan"),
        Refused(StoreConfiguration(maximumReaderCount: 0), "`maximumReaderCount` of 0"),
        Refused(StoreConfiguration(maximumReaderCount: -3), "`maximumReaderCount` of -3"),
        Refused(StoreConfiguration(readerCacheSize: -1), "`readerCacheSize` of -1"),
        Refused(StoreConfiguration(writerCacheSize: .min), "`writerCacheSize` of -"),
        Refused(StoreConfiguration(history: .limited(age: -1)), "history of at most -1.0 seconds"),
        Refused(StoreConfiguration(history: .limited(age: .nan)), "history of at most nan seconds"),
        Refused(StoreConfiguration(history: .limited(size: -1)), "and -1 bytes"),
    ]

    @Test("A setting that is out of its bounds is refused, and no file is created", arguments: refused)
    func refuses(_ refused: Refused) async throws {
        let folder = try ScratchFolder()
        for location in [StoreLocation.sqlite(folder.file("bank.sqlite")), .inMemory] {
            let error = await #expect(throws: StrataError.self) {
                _ = try await ContextStack.open(location, models: Bank.models, configuration: refused.configuration)
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains(refused.text) == true, "\(String(describing: error))")
        }
        #expect(try folder.image().isEmpty)
    }

    static let accepted = [
        StoreConfiguration(
            busyTimeout: 0,
            history: .limited(age: 0, size: 0),
            maximumReaderCount: 1,
            readerCacheSize: 0,
            writerCacheSize: 0
        ),
        StoreConfiguration(
            busyTimeout: .infinity,
            history: .limited(),
            maximumReaderCount: .max,
            readerCacheSize: .max,
            writerCacheSize: .max
        ),
        StoreConfiguration(history: .off),
    ]

    @Test("The bounds themselves are accepted", arguments: accepted)
    func accepts(_ configuration: StoreConfiguration) async throws {
        let folder = try ScratchFolder()
        let stack = try await ContextStack.open(
            .sqlite(folder.file("bank.sqlite")),
            models: Bank.models,
            stack: .rootOnly,
            configuration: configuration
        )
        try await stack.background { context in
            context.insert(Account(name: "a", balance: 1))
            try context.commit()
        }
        let count = try await stack.background { try $0.count(Account.all) }
        #expect(count == 1)
        try await stack.close()
    }

    static let refusedMigrations = [
        Migration().waiting(for: -1), Migration().waiting(for: .nan), Migration().backup(.beside(keeping: 0)),
        Migration().backup(.folder(URL(fileURLWithPath: "/nowhere"), keeping: -1)),
    ]

    @Test("A migration that cannot wait, or cannot keep a backup, is refused", arguments: refusedMigrations)
    func refusesMigration(_ migration: Migration) async {
        let error = await #expect(throws: StrataError.self) {
            _ = try await ContextStack.open(.inMemory, models: Bank.models, migration: migration)
        }
        #expect(error?.code == .invalidArgument)
    }
}
