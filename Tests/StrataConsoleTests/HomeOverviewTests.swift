import FileHome
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import StoreModels
import Strata
import Testing

@testable import StrataConsole

@Suite("The home of a store on the overview", .timeLimit(.minutes(1))) struct HomeOverviewTests {
    private let folder: ScratchFolder
    private let faults = HomeFaults()
    private var copy: URL { folder.file("a&b.sqlite") }

    init() throws { folder = try ScratchFolder() }

    private func open() async throws -> ContextStack {
        try await ContextStack.open(
            .shared(FileHome(folder.file("<b>home.sqlite"), faults: faults), copy: copy),
            models: Shop.models,
            stack: .rootOnly
        )
    }

    /// The text of the first page of a new console.
    private func overview(of stack: ContextStack) async throws -> String {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let console = StoreConsole(of: stack, options: ConsoleOptions(authentication: .none, logger: logger))
        let router = Router()
        console.addRoutes(to: router.group(RouterPath("")))
        return try await Application(router: router, logger: logger).test(.router) { client in
            let page = try await client.get("/")
            #expect(page.status == .ok)
            return page.text
        }
    }

    @Test("A stack with a home shows the nodes of the home, with their names as texts")
    func nodes() async throws {
        let stack = try await open()
        // The first report is made as soon as the stack is open.
        while try await stack.nodes().isEmpty, !Task.isCancelled { await Task.yield() }
        let text = try await overview(of: stack)
        #expect(text.contains("&lt;b&gt;home.sqlite") && !text.contains("<b>home"))
        #expect(text.contains("a&amp;b.sqlite <small class=\"note\">this node</small>"))
        #expect(text.contains(#"<span class="mark mark-good">reports</span>"#))
        try await stack.close()
    }

    @Test("A node that is ahead of a home that has lost transactions is marked")
    func ahead() async throws {
        let stack = try await open()
        // A report of a node that has two transactions more.
        let home = FileHome(folder.file("<b>home.sqlite"))
        let proposal = HomeDescription(format: 0, version: 0, schema: "", steps: [], tables: [])
        // The store exists, so the home does not use the proposal.
        let newest = try home.open(proposal, busyTimeout: 5).position
        let position = HomePosition(number: newest.number + 2, id: UUID())
        _ = try home.report(position, of: UUID(), named: "other")
        home.close()
        let text = try await overview(of: stack)
        #expect(text.contains(#"<span class="mark mark-bad">2 ahead</span>"#))
        try await stack.close()
    }

    @Test("A home that does not list its nodes is reported, and the page appears")
    func failure() async throws {
        let stack = try await open()
        faults.refuse(.nodes, times: .max)
        let text = try await overview(of: stack)
        #expect(text.contains("The home does not list its nodes: unreachable"))
        #expect(text.contains("&lt;b&gt;home.sqlite"))
        try await stack.close()
    }

    @Test("A console that has the working copy alone shows what the copy records")
    func fileOnly() async throws {
        let writer = try await open()
        let stack = try await ContextStack.open(
            .sqlite(copy),
            models: [],
            stack: .rootOnly,
            configuration: StoreConfiguration(isReadOnly: true, allowsUnopenedModels: true)
        )
        let text = try await overview(of: stack)
        #expect(text.contains("&lt;b&gt;home.sqlite") && text.contains("a&amp;b.sqlite"))
        #expect(text.contains("reads the working copy alone") && !text.contains("this node</small>"))
        try await stack.close()
        try await writer.close()
    }

    @Test("A store without a home has no such section")
    func withoutHome() async throws {
        let shop = try ShopFixture()
        try await shop.make(["a"])
        try await shop.run { client, _ in
            let text = try await client.get("/").text
            #expect(!text.contains(#"id="home""#))
        }
    }
}
